"""A small image with Python in it, made of this machine's own files: no registry, no network. Kept below `build`."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "build" / "containers"
PYTHON = Path("/usr/bin/python3")
PROGRAMS = ("sh", "env", "rm", "cat", "ls", "sleep", "mkdir", "true")
_LEFT_OUT = ("test", "__pycache__", "idlelib", "lib2to3", "tkinter", "ensurepip", "turtledemo", "pydoc_data")
_VERSION = "1"


def squashfs() -> Path:
    """The image as one file."""
    return made("image.sqsh", lambda path: run("mksquashfs", str(folder()), str(path), "-noappend", "-comp", "gzip"))


def folder() -> Path:
    return made("image", _fill)


def made(name: str, make) -> Path:  # type: ignore[no-untyped-def]
    """Whole or not at all; several workers may ask at once."""
    place = FOLDER / _VERSION / name
    place.parent.mkdir(parents=True, exist_ok=True)
    if place.exists():
        return place
    with open(place.parent / f".{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not place.exists():
            partial = place.with_name(f".{name}.partial")
            _remove(partial)
            make(partial)
            partial.rename(place)
    return place


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)


def run(*words: str) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def _fill(root: Path) -> None:
    if not PYTHON.exists():
        pytest.skip(f"there is no {PYTHON} to make an image of")
    for name in ("usr/bin", "usr/lib", "usr/lib64", "etc", "tmp", "proc", "sys", "dev", "root", "home", "var/tmp"):
        (root / name).mkdir(parents=True)
    for name in ("bin", "lib", "lib64"):
        (root / name).symlink_to(f"usr/{name}")
    (root / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\n")
    (root / "etc/group").write_text("root:x:0:\n")
    for name in ("etc/hosts", "etc/resolv.conf", "etc/localtime"):
        (root / name).touch()
    python = PYTHON.resolve()
    programs = [shutil.which(name, path="/usr/bin:/bin") for name in PROGRAMS]
    _copy(root, [str(python), *filter(None, programs)])
    for name in PROGRAMS:
        _also_called(root, name)
    (root / "usr/bin/python3").symlink_to(python.name)
    library = Path(run(str(python), "-c", "import sysconfig; print(sysconfig.get_path('stdlib'))").strip())
    shutil.copytree(library, root / str(library).lstrip("/"), symlinks=False, ignore=shutil.ignore_patterns(*_LEFT_OUT),
                    ignore_dangling_symlinks=True)  # fmt: skip
    _copy(root, (str(path) for path in (library / "lib-dynload").glob("*.so")), only_libraries=True)


def _also_called(root: Path, name: str) -> None:
    """`/bin/sh` is a link to dash."""
    real = os.path.realpath(shutil.which(name, path="/usr/bin:/bin") or name)
    link = root / "usr/bin" / name
    if not link.exists() and not link.is_symlink():
        link.symlink_to(os.path.basename(real))


def _copy(root: Path, files: Iterable[str], only_libraries: bool = False) -> None:
    """Each file and the libraries that it is linked with, under the names that the loader looks for."""
    for file in files:
        if not only_libraries:
            _put(root, os.path.realpath(file), os.path.realpath(file))
        for line in run("ldd", file).splitlines():
            path = next((word for word in line.split() if word.startswith("/")), "")
            if path:
                _put(root, os.path.realpath(path), path)


def _put(root: Path, source: str, name: str) -> None:
    folder = name if name.startswith("/usr/") else f"/usr{name}"
    target = root / folder.lstrip("/")
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target)
