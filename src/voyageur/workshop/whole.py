"""Environments that are there already, and are taken as they are: a virtual environment, or a packed one of conda."""

from __future__ import annotations

import re
import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path

from voyageur.env.lock import Lock
from voyageur.env.sources import digests_of, kind_of
from voyageur.env.wheel import Target, plain_name
from voyageur.errors import RunError, SpecError
from voyageur.workshop.installing import free_scripts, lay_out_scripts, packages_folder
from voyageur.workshop.python import Python
from voyageur.workshop.room import disk_is_full, is_about_a_full_disk
from voyageur.workshop.shell import Shell

VIRTUALENV, CONDA = "virtualenv", "conda"
_UNPACK = "bin/conda-unpack"
_INFO = re.compile(r"(.+)-([^-]+)\.dist-info")
_META = re.compile(r"(?:\./)?conda-meta/(.+)-([^-]+)-[^-]+\.json")


def lock_as_it_is(root: Path, name: str, python: Python, modules: tuple[str, ...], site: str) -> Lock:
    kind = kind_of(root, name)
    if kind == "virtualenv":
        holds, target = _of_virtualenv(root / name, python)
    else:
        holds, target = _of_packed(root / name, python.target)
    return Lock(
        target=target,
        packages=(),
        sources=digests_of(root, [name]),
        modules=modules,
        site=site,
        by="as it is",
        as_is=VIRTUALENV if kind == "virtualenv" else CONDA,
        holds=holds,
    )


# ── a virtual environment ────────────────────────────────────────────────────────────────────────────────────────────


def _of_virtualenv(folder: Path, python: Python) -> tuple[tuple[str, ...], Target]:
    version = _version_of(folder)
    packages = folder / "lib" / f"python{version}" / "site-packages"
    for name, place in _tied(packages):
        raise SpecError(
            f"{name} in {folder.name} is tied to a folder of this machine",
            facts=[place],
            hint=f"install {name} as a package and not with `-e`; the project's own code travels with each run",
        )
    found = sorted(f"{plain_name(match[1])}=={match[2]}" for match in _infos(packages))
    return tuple(found), Target(python=version, machine=python.target.machine, libc=python.target.libc)


def _version_of(folder: Path) -> str:
    found = [path.parent.name.removeprefix("python") for path in folder.glob("lib/python3.*/site-packages")]
    if len(found) != 1:
        raise SpecError(
            f"{folder} is no virtual environment with one Python", facts=[f"it has {len(found)}"], hint="make it anew"
        )
    return found[0]


def _infos(packages: Path) -> Iterator[re.Match[str]]:
    for path in packages.glob("*.dist-info"):
        if match := _INFO.fullmatch(path.name):
            yield match


def _tied(packages: Path) -> Iterator[tuple[str, str]]:
    """Packages whose code lies elsewhere, as `pip install -e` leaves it."""
    for path in sorted(packages.glob("__editable__*")):
        yield path.name.removeprefix("__editable__").strip("_.").split("-")[0], str(path)
    for path in sorted(packages.glob("*.pth")):
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("/"):
                yield path.stem, f"{path.name}: {line}"


def copy_virtualenv(source: Path, folder: Path, python: Python) -> None:
    """Its packages and scripts; the Python that it stood on is named anew."""
    if _version_of(source) != python.target.python:
        raise SpecError(
            f"{source.name} is of Python {_version_of(source)}, and here is {python.target.python}",
            hint="name its version in `env.python`, or the module that brings it in `env.modules`",
        )
    without = shutil.ignore_patterns("__pycache__", "pip", "pip-*.dist-info")
    shutil.copytree(packages_folder(source, python), packages_folder(folder, python), symlinks=True, ignore=without)
    shutil.copytree(source / "bin", folder / "bin", symlinks=True, ignore=shutil.ignore_patterns("python*", "pip*"))
    shutil.copy(source / "pyvenv.cfg", folder / "pyvenv.cfg")
    for name in ("share", "etc"):
        if (source / name).is_dir():
            shutil.copytree(source / name, folder / name, symlinks=True)
    lay_out_scripts(folder, python)
    free_scripts(folder, source)


# ── a packed one of conda ────────────────────────────────────────────────────────────────────────────────────────────


def _of_packed(archive: Path, target: Target) -> tuple[tuple[str, ...], Target]:
    """Read once, for its names."""
    try:
        with tarfile.open(archive) as tar:
            metas = [match for name in tar.getnames() if (match := _META.fullmatch(name))]
    except (tarfile.TarError, OSError, EOFError) as problem:
        raise SpecError(
            f"{archive.name} cannot be read", facts=[str(problem)], hint="`conda pack -o env.tar.gz` makes it anew"
        ) from None
    versions = {match[1]: match[2] for match in metas}
    if "python" not in versions:
        facts = ["it has no conda-meta/python-*.json"] if metas else ["it has no conda-meta"]
        hint = "`conda pack -n ENVIRONMENT -o env.tar.gz` packs one"
        raise SpecError(f"{archive.name} is no packed environment with a Python", facts=facts, hint=hint)
    python = ".".join(versions["python"].split(".")[:2])
    holds = tuple(sorted(f"{plain_name(name)}=={version}" for name, version in versions.items()))
    return holds, Target(python=python, machine=target.machine, libc=target.libc)


def unpack_conda(shell: Shell, archive: Path, folder: Path) -> tuple[str, ...]:
    """What has to run in it where it is unpacked; nothing for one that was packed for a fixed place."""
    folder.mkdir(parents=True)
    answer = shell.run(["tar", "-xf", str(archive), "-C", str(folder)])
    if not answer.ok:
        facts = answer.all.splitlines()[-3:]
        if is_about_a_full_disk(answer.all):
            raise disk_is_full(facts)
        raise RunError(f"{archive.name} could not be unpacked", facts=facts, hint="`conda pack` makes it anew")
    return ("bin/python", _UNPACK) if (folder / _UNPACK).is_file() else ()


def finish(shell: Shell, folder: Path, words: tuple[str, ...]) -> None:
    """As it is done on each node."""
    answer = shell.run([str(folder / words[0]), *words[1:]], folder=folder) if words else None
    if answer and not answer.ok:
        facts = answer.all.splitlines()[-3:]
        raise RunError("the packed environment could not be set up", facts=facts, hint="`conda pack` makes it anew")
