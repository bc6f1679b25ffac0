"""`voy data convert`: the same files in another form, whole under its name or not there at all."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from voyageur.data.errors import PackError, told, told_name
from voyageur.data.forms.form import Chosen, Form, Written
from voyageur.data.forms.known import PACK, SHARDS, WRITTEN, opened, source_form, target_form
from voyageur.data.forms.shards import name_of_all, siblings
from voyageur.data.pack import pack
from voyageur.data.packing import Report
from voyageur.data.sources import Archive, Origin, origin_of
from voyageur.errors import SpecError
from voyageur.runtime.folder import sync_folder

_SHARD = 1 << 30
_SHOWN = 5


@dataclass
class Converted:
    path: str
    form: str
    members: int
    size: int  # of the contents
    left_out: Counter[str] = field(default_factory=Counter)


def convert(
    source: str,
    target: str,
    *,
    source_is: str | None,
    to: str | None,
    shard: int,
    force: bool,
    listed: Callable[[int], None],
    done: Written,
) -> Converted | Report:
    form = target_form(target, to)
    found = source_form(source, source_is)
    if os.path.realpath(source) == os.path.realpath(target):
        raise SpecError(f"{source} and {target} are the same", hint="name another place for what is made")
    if form in (PACK, SHARDS):
        return _into_pack(source, found, target, shard or (_SHARD if form == SHARDS else 0), force, listed, done)
    if shard:
        raise SpecError(f"--shards is for tars, not for {form}", hint="`--to webdataset` makes shards")
    return _into(WRITTEN[form], source, found, target.rstrip("/"), force, listed, done)


# ── to a pack ──


def _into_pack(
    source: str, found: str, target: str, shard: int, force: bool, listed: Callable[[int], None], done: Written
) -> Report:
    def origin(path: str, room: str) -> Origin:
        if found in ("folder", PACK) and len(siblings(path)) == 1:
            return origin_of(path, room)
        return Archive(opened(path, found, room), _dated(path))

    out = name_of_all(target) or target
    return pack([source], out, shard=shard, follow=False, force=force, listed=listed, done=done, origin=origin)


def _dated(path: str) -> str:
    """The file whose time says whether it is still the same."""
    for one in (os.path.join(path, "data.mdb"), path):
        if os.path.exists(one):
            return one
    return path + ".idx"


# ── to another form ──


def _into(
    form: Form, source: str, found: str, target: str, force: bool, listed: Callable[[int], None], done: Written
) -> Converted:
    path = os.path.abspath(target)
    if os.path.lexists(path) and not force:
        raise SpecError(f"there is a {target} already", hint="`--force` replaces it, once the new one is whole")
    with told(), _room_beside(path, target) as room, opened(source, found, room) as content:
        chosen = Chosen.of(content)
        if not len(chosen):
            raise SpecError(f"there are no files in {source}", facts=[f"left out: {chosen.left_out}"])
        _check_members(form, chosen)
        _check_room(form, chosen, room)
        listed(len(chosen))
        made = os.path.join(room, os.path.basename(path))
        form.write(chosen, made, done)
        _publish(made, path, room, form.beside)
    return Converted(path, form.name, len(chosen), chosen.size, chosen.left_out)


@contextmanager
def _room_beside(path: str, target: str) -> Iterator[str]:
    """A hidden folder where it is made, and of which nothing stays."""
    folder, name = os.path.split(path)
    room = os.path.join(folder, f".{name}.{os.urandom(4).hex()}")
    try:
        os.mkdir(room, 0o700)
        yield room
    except OSError as problem:
        facts = ["nothing is left of it"]
        raise PackError(f"{target} cannot be made: {problem.strerror or problem}", facts=facts) from None
    finally:
        shutil.rmtree(room, ignore_errors=True)


def _check_members(form: Form, chosen: Chosen) -> None:
    folders = {part for name in chosen.names() for part in _above(name)} if form.is_tree else set()
    problems, count = [], 0
    for number, name in zip(chosen.numbers, chosen.names(), strict=True):
        why = "a file here and a folder there" if name in folders else form.refuses(name, chosen.pack.size(number))
        if why:
            count += 1
            problems += [f"{told_name(name)}: {why}"] if count <= _SHOWN else []
    if count:
        more = [f"and {count - _SHOWN} more"] if count > _SHOWN else []
        raise SpecError(
            f"{count} of {len(chosen)} files cannot be in a {form.name}",
            facts=[*problems, *more],
            hint="rename them, or choose another form with `--to`",
        )


def _above(name: bytes) -> Iterator[bytes]:
    at = name.find(b"/")
    while at >= 0:
        yield name[:at]
        at = name.find(b"/", at + 1)


def _check_room(form: Form, chosen: Chosen, room: str) -> None:
    disk = os.statvfs(room)
    wanted, free = chosen.size + form.each * len(chosen), disk.f_bavail * disk.f_frsize
    if chosen.size > free:
        facts = [f"up to {wanted} bytes are wanted; {free} are free"]
        raise SpecError(f"there is no room for it in {os.path.dirname(room)}", facts=facts)


def _publish(made: str, path: str, room: str, beside: str) -> None:
    """What it replaces goes aside first, and then away with all else in the room."""
    for one in (made, made + beside) if beside else (made,):
        _sync(one)
    os.makedirs(os.path.join(room, "old"))
    for ending in {"", beside}:
        if os.path.lexists(path + ending):
            os.rename(path + ending, os.path.join(room, "old", os.path.basename(path) + ending))
    os.rename(made, path)
    if beside:
        os.rename(made + beside, path + beside)
    sync_folder(os.path.dirname(path))


def _sync(path: str) -> None:
    if os.path.isdir(path):
        return  # of many files; those who write few sync them
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
