"""A folder into one file, the same bytes each time: members in order, all of one time and nobody's."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from voyageur.env.model import Form
from voyageur.errors import RunError, SpecError
from voyageur.job.data.tar import MOMENT
from voyageur.runtime.staging.mount import CannotMount, Mounted, tool_for

IMAGE = "squashfs image"


class Contents(Struct, frozen=True, kw_only=True):
    files: int
    size: int
    programs: tuple[str, ...]


def form_for(wish: str) -> Form:
    """`auto`: an image where this machine can both make and mount one. Raises SpecError where none can be made."""
    can_make = shutil.which("mksquashfs") is not None
    if wish == "squashfs" and not can_make:
        hint = '`env.form = "tar"` needs none; `apt-get install squashfs-tools` brings it'
        raise SpecError("there is no mksquashfs here to make an image with", facts=["asked for by env.form"], hint=hint)
    if wish == "squashfs" or (wish == "auto" and can_make and tool_for(IMAGE)):
        return Form.IMAGE
    return Form.TAR


def contents_of(folder: Path) -> Contents:
    sizes = [path.lstat().st_size for path, _ in _members(folder) if not path.is_symlink() and path.is_file()]
    programs = sorted(path.name for path in (folder / "bin").iterdir() if os.access(path, os.X_OK))
    return Contents(files=len(sizes), size=sum(sizes), programs=tuple(programs))


def archive(folder: Path, form: Form, path: Path) -> None:
    """Whole and on the disk when it returns. Raises RunError."""
    with _told(path):
        if form is Form.TAR:
            _tar(folder, path)
        else:
            _image(folder, path)
        _sync(path)


def move_beside(path: Path, target: Path) -> Path:
    """To another disk, whole and written."""
    with _told(target):
        shutil.copyfile(path, target)
        _sync(target)
    path.unlink()
    return target


@contextlib.contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        path.unlink(missing_ok=True)
        facts = [f"{path.parent}: {problem.strerror or problem}"]
        hint = "make room there; `voy quota` tells how full it is"
        raise RunError("the environment could not be written", facts=facts, hint=hint) from None


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _tar(folder: Path, path: Path) -> None:
    with tarfile.open(path, "w", format=tarfile.GNU_FORMAT, bufsize=1 << 20) as tar:
        for member, name in _members(folder):
            info = tar.gettarinfo(str(member), name)
            info.uid = info.gid = 0
            info.uname = info.gname = ""
            info.mtime = MOMENT
            info.mode = 0o755 if info.isdir() or info.mode & 0o100 else 0o644
            if info.islnk():  # tarfile makes one of what has the same inode
                info.type, info.linkname, info.size = tarfile.REGTYPE, "", member.stat().st_size
            if info.isreg():
                with open(member, "rb") as content:
                    tar.addfile(info, content)
            else:
                tar.addfile(info)


def _members(folder: Path) -> Iterator[tuple[Path, str]]:
    """Folders before what is in them."""
    for root, folders, files in os.walk(folder):
        folders.sort()
        below = Path(root).relative_to(folder)
        for name in sorted([*folders, *files]):
            yield Path(root) / name, str(below / name)


def _image(folder: Path, path: Path) -> None:
    moment = str(MOMENT)
    argv = ["mksquashfs", str(folder), str(path), "-noappend", "-no-progress", "-quiet", "-no-xattrs", "-all-root"]
    argv += ["-mem", _MEMORY]
    argv += ["-all-time", moment, "-mkfs-time", moment, *_COMPRESSION]
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if done.returncode:
        raise OSError("; ".join(done.stderr.decode(errors="replace").strip().splitlines()[-3:]) or "mksquashfs failed")


# By itself it takes a quarter of the machine's memory, of which a job may have little.
_MEMORY = "1G"
# Level 1 of zstd is made in seconds and is a quarter smaller than lz4 (docs/decisions/0011).
_COMPRESSION = ["-comp", "zstd", "-Xcompression-level", "1", "-b", "128K"]


def can_be_mounted(image: Path, empty: Path) -> bool:
    """Programs that mount are built with few or many ways to compress."""
    try:
        mounted = Mounted(IMAGE, str(image), str(empty))
    except (CannotMount, OSError):
        return False
    try:
        return (empty / "pyvenv.cfg").is_file()
    finally:
        mounted.end()
