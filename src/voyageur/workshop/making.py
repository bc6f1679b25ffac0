"""The making of an environment, from an order to one whole file with its record. Killed at any moment, it leaves
nothing that could be taken for one, and the next sweeps what is left."""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import Struct

from voyageur.env.lock import Lock
from voyageur.env.model import Built, Form
from voyageur.env.store import find_built, write_record
from voyageur.env.tools import with_options
from voyageur.env.wheel import Target
from voyageur.errors import RunError, SpecError
from voyageur.runtime.staging.sums import SUFFIX, write_sums
from voyageur.units import Size, counted
from voyageur.workshop.archiving import Contents, archive, can_be_mounted, contents_of, form_for, move_beside
from voyageur.workshop.claim import Claim, held
from voyageur.workshop.gathering import Keys, Shelf, gather, volume_of
from voyageur.workshop.installing import compile_all, install, lay_out, names_of_place, set_free
from voyageur.workshop.keeping import MAKING, halves
from voyageur.workshop.keys import filled
from voyageur.workshop.locking import read_wants
from voyageur.workshop.python import Python, find_python, wheel_places
from voyageur.workshop.room import fast_folder, full_disks_told, work_folder
from voyageur.workshop.shell import Shell, open_shell
from voyageur.workshop.trying import try_out
from voyageur.workshop.whole import CONDA, VIRTUALENV, copy_virtualenv, finish, unpack_conda

_SPARE = 1.3  # compiled modules, and what a disk rounds up

Tell = Callable[[str], None]


class Order(Struct, frozen=True, kw_only=True):
    """All that a build needs to know, wherever it happens. `root` is the project's folder, `folders` hold wheels."""

    key: str
    lock: Lock
    root: str
    folder: str
    cache: str
    site: str
    source: str
    form: str = "auto"
    purge: bool = True
    python: str | None = None
    folders: tuple[str, ...] = ()
    with_uv: bool = True
    again: bool = False


def order_path(folder: Path, key: str) -> Path:
    return folder / f"{key}.{secrets.token_hex(4)}.order"


def read_order(path: Path) -> Order:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Order)
    except (OSError, msgspec.MsgspecError) as problem:
        raise SpecError(
            f"{path} is no order for an environment", facts=[str(problem)], hint="`voy env build`"
        ) from None


def make(order: Order, environment: Mapping[str, str], tell: Tell) -> Built:
    """What there is already; one that is made `again` takes its place when it is whole. Two at once build once."""
    folder = Path(order.folder)
    make_folder(folder)
    if not order.again and (built := find_built(folder, order.key)):
        return built
    with full_disks_told(fast_folder(environment), folder), _claimed(folder, order.key, tell) as claim:
        built = find_built(folder, order.key)
        if built and not order.again:
            return built
        sweep(folder, order.key, keep=built is not None)
        with _Log(folder / f"{order.key}.log", tell) as log:
            return _made(order, environment, claim, log)


def _claimed(folder: Path, key: str, tell: Tell) -> AbstractContextManager[Claim]:
    return held(folder / f"{key}.claim", lambda who: tell(f"waiting: {who} is making it"))


def make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as problem:
        raise SpecError(
            f"environments cannot be kept: {problem.strerror}",
            facts=[str(folder)],
            hint="choose another place with `--scratch`, or make room there",
        ) from None


def sweep(folder: Path, key: str, *, keep: bool = False) -> None:
    """What a killed build left of this key; and, unless it is whole, an archive with its record."""
    for path in halves(folder, key):
        path.unlink(missing_ok=True)
    if not keep:
        _remove_published(folder, key)


def _remove_published(folder: Path, key: str, but: str = "") -> None:
    """The record first: what has none is taken by nobody."""
    names = [f"{key}.{form.value}" for form in Form if f"{key}.{form.value}" != but]
    for name in (f"{key}.json", *names, *(f"{name}{SUFFIX}" for name in names)):
        (folder / name).unlink(missing_ok=True)


class _Log:
    """Each step on a line, for those who watch and for the file beside the environment."""

    def __init__(self, path: Path, tell: Tell) -> None:
        self.file = open(path, "w", encoding="utf-8")  # noqa: SIM115  # closed by __exit__
        self.tell = tell
        self.started = time.monotonic()

    def __enter__(self) -> _Log:
        return self

    def __exit__(self, kind: object, problem: BaseException | None, _: object) -> None:
        with contextlib.suppress(OSError):  # a full disk has no room for a log; what is raised says so
            if problem is not None:
                self.note(problem.text() if isinstance(problem, (SpecError, RunError)) else repr(problem))
            self.file.close()

    def step(self, line: str) -> None:
        self.tell(line)
        self.note(line)

    def note(self, line: str) -> None:
        self.file.write(f"{time.monotonic() - self.started:7.1f} s  {line}\n")
        self.file.flush()


def _made(order: Order, environment: Mapping[str, str], claim: Claim, log: _Log) -> Built:
    with work_folder(environment) as work:
        return _made_in(work, order, environment, claim, log)


def _made_in(work: Path, order: Order, environment: Mapping[str, str], claim: Claim, log: _Log) -> Built:
    lock = order.lock
    shell = open_shell(lock.modules, order.purge, environment, work)
    folder, moved = work / "made-here" / "environment", work / "elsewhere" / "moved"
    folder.parent.mkdir()
    moved.parent.mkdir()
    if lock.as_is == CONDA:
        return _of_conda(shell, order, folder, moved, claim, log)
    python = find_python(shell, order.python or lock.target.python)
    check_target(lock.target, python.target)
    log.step(f"Python {python.version} ({python.base})")
    if lock.as_is == VIRTUALENV:
        copy_virtualenv(Path(order.root) / lock.sources[0].name, folder, python)
    else:
        _install(shell, python, order, folder, log)
    set_free(folder, python)
    compile_all(shell, python, folder)
    if named := names_of_place(folder):
        log.note(f"these name the folder that they were made in: {', '.join(named)}")
    folder.rename(moved)
    imports = _try(shell, moved, lock, log)
    return _put_away(order, Standing(python.version, python.base, imports), moved, claim, log)


def _install(shell: Shell, python: Python, order: Order, folder: Path, log: _Log) -> None:
    keys = Keys(lambda: indexes_of(order, shell, python), shell.variables)
    shelf = Shelf(root=Path(order.root), cache=Path(order.cache), folders=order.folders, keys=keys)
    files = gather(order.lock.packages, python.target, shelf)
    volume = volume_of(files)
    check_room(shell.tmp, volume.files, int(volume.size.bytes * _SPARE))
    log.step(f"{counted(len(files), 'package')}, {counted(volume.files, 'file')}, {volume.size}: as the lock says")
    lay_out(folder, python)
    tool = install(shell, python, order.lock, files, folder, order.with_uv)
    log.step(f"installed by {tool}")


def indexes_of(order: Order, shell: Shell, python: Python) -> tuple[str, ...]:
    """With what the machine and the project's files say of them."""
    machine = wheel_places(shell, python)
    names = [source.name for source in order.lock.sources]
    wants = read_wants(Path(order.root), names, python) if not order.lock.as_is else None
    options = [filled(word, shell.variables) for word in wants.options] if wants else []
    return with_options(machine, options).indexes


def _of_conda(shell: Shell, order: Order, folder: Path, moved: Path, claim: Claim, log: _Log) -> Built:
    """Its bytes are put away before it is set up: it is set up for the place where it lies."""
    packed = Path(order.root) / order.lock.sources[0].name
    if order.form == Form.IMAGE.value:
        raise SpecError(
            "a packed environment of conda has to be set up where it lies, so it cannot be an image",
            facts=['env.form = "squashfs"'],
            hint='`env.form = "tar"`, or leave it out',
        )
    words = unpack_conda(shell, packed, folder)
    tar = shell.tmp / "packed.tar"
    archive(folder, Form.TAR, tar)
    folder.rename(moved)
    finish(shell, moved, words)
    imports = _try(shell, moved, order.lock, log)
    version = next((one.partition("==")[2] for one in order.lock.holds if one.startswith("python==")), "")
    contents = contents_of(moved)
    return _publish(order, Standing(version, "", imports, words), tar, Form.TAR, contents, claim, log)


class Standing(NamedTuple):
    """What it stands on, what it brings, and what has to be done where it is unpacked."""

    version: str
    base: str
    imports: tuple[str, ...]
    finish: tuple[str, ...] = ()


def _try(shell: Shell, folder: Path, lock: Lock, log: _Log) -> tuple[str, ...]:
    """What can be imported from it."""
    tried = try_out(shell, folder, lock.wanted, [package.name for package in lock.packages])
    log.step(f"tried from another place: {', '.join(tried.modules) or 'it starts'}")
    for note in tried.notes:
        log.step(f"note: {note}")
    return tried.imports


def check_target(locked: Target, here: Target) -> None:
    if locked.machine != here.machine:
        raise SpecError(
            f"the lock is for {locked.machine}, and this machine is {here.machine}",
            hint="`voy env lock` here makes one for this machine",
        )
    if locked.python != here.python:
        raise SpecError(
            f"the lock is for Python {locked.python}, and here is {here.python}",
            hint="`voy env lock` makes one for it; `env.python` says which is wanted",
        )


def check_room(folder: Path, files: int, size: int) -> None:
    disk = os.statvfs(folder)
    free, inodes = disk.f_bavail * disk.f_frsize, disk.f_favail
    if free < size or (disk.f_files and inodes < files):
        raise RunError(
            f"there is no room in {folder.parent} to make the environment",
            facts=[f"{Size(size)} and {files:,} files are wanted; {Size(free)} and {inodes:,} files are free"],
            hint="name another folder with TMPDIR, or build it in a job: `voy env build --job`",
        )


def _put_away(order: Order, standing: Standing, made: Path, claim: Claim, log: _Log) -> Built:
    form = form_for(order.form)
    contents = contents_of(made)
    folder = Path(order.folder)
    packed = folder / f"{MAKING}{order.key}.{form.value}"
    archive(made, form, packed)
    if form is Form.IMAGE and order.form == "auto" and not can_be_mounted(packed, made.parent / "mounted"):
        log.step("an image that is made here cannot be mounted here, so it becomes a tar")
        packed.unlink()
        form = Form.TAR
        packed = folder / f"{MAKING}{order.key}.{form.value}"
        archive(made, form, packed)
    return _publish(order, standing, packed, form, contents, claim, log)


def _publish(
    order: Order, standing: Standing, packed: Path, form: Form, contents: Contents, claim: Claim, log: _Log
) -> Built:
    """The record comes last: what has one is whole."""
    folder = Path(order.folder)
    final = folder / f"{order.key}.{form.value}"
    if packed.parent != folder:
        packed = move_beside(packed, folder / f"{MAKING}{final.name}")
    if not claim.is_ours():
        packed.unlink(missing_ok=True)
        raise RunError(
            "another build has taken over, because this one showed no life", hint="`voy env show` tells what came of it"
        )
    _remove_published(folder, order.key, but=final.name)
    os.rename(packed, final)
    sums = write_sums(str(final))
    built = Built(
        key=order.key,
        archive=str(final),
        digest=sums.digest,
        form=form,
        size=Size(sums.size),
        unpacked=Size(contents.size),
        files=contents.files,
        python=standing.version,
        base=standing.base,
        modules=order.lock.modules,
        packages=tuple(str(package) for package in order.lock.packages) or order.lock.holds,
        site=order.site,
        source=order.source,
        programs=contents.programs,
        imports=standing.imports,
        made=round(time.time(), 3),
        finish=standing.finish,
    )
    write_record(folder, built)
    log.step(f"{final}: {built.size}, {built.files:,} files")
    return built
