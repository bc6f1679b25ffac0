"""Files from where they are to where they are wanted: each whole and as its manifest says, or not at all."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from voyageur.errors import SpecError
from voyageur.haul.find import Item

_BLOCK = 1 << 20


class Carried(Struct, frozen=True, kw_only=True):
    """`damaged`: sentences about files that are not what they should be; they were not put in place."""

    new: tuple[str, ...]
    there: tuple[str, ...]
    damaged: tuple[str, ...]
    size: int


def carry(items: Sequence[tuple[str, Item]], target: Path, force: bool) -> Carried:
    """Each under its name below `target`. What is there already and right stays; so one can go on where one was."""
    there = [(name, item) for name, item in items if _is_there(target / name, item)]
    done = {name for name, _ in there}
    left = [(name, item) for name, item in items if name not in done]
    if not force:
        _refuse_to_overwrite([name for name, _ in left if os.path.lexists(target / name)], target)
    new, damaged = [], []
    for name, item in left:
        problem = _place(item, target / name)
        if problem:
            damaged.append(f"{name}: {problem}")
        else:
            new.append(name)
    size = sum(item.size for name, item in left if name in set(new))
    return Carried(new=tuple(new), there=tuple(sorted(done)), damaged=tuple(damaged), size=size)


def _refuse_to_overwrite(names: list[str], target: Path) -> None:
    if names:
        more = [f"and {len(names) - 5} more"] if len(names) > 5 else []
        raise SpecError(
            f"{len(names)} other file{'' if len(names) == 1 else 's'} of the same name would be lost",
            facts=[*(str(target / name) for name in names[:5]), *more],
            hint="choose another folder with `-o`, or write over them with `--force`",
        )


def _is_there(path: Path, item: Item) -> bool:
    try:
        if path.is_symlink() or not path.is_file() or path.stat().st_size != item.size:
            return False
        with open(path, "rb") as file:
            here = _digest(_blocks(file.fileno(), 0, item.size))
        return here == (item.sha256 or _digest_of(item))
    except OSError:
        return False


def _digest_of(item: Item) -> str:
    with open(item.source, "rb") as file:
        return _digest(_blocks(file.fileno(), item.offset, item.size))


def _blocks(descriptor: int, offset: int, size: int) -> Iterator[bytes]:
    while size:
        block = os.pread(descriptor, min(_BLOCK, size), offset)
        if not block:
            return
        yield block
        offset, size = offset + len(block), size - len(block)


def _digest(blocks: Iterator[bytes]) -> str:
    digest = hashlib.sha256()
    for block in blocks:
        digest.update(block)
    return digest.hexdigest()


def _place(item: Item, path: Path) -> str | None:
    """Why it could not be; nothing is left of it then. A full disk is everybody's problem and ends all of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name[:200]}.{os.getpid()}.part")
    try:
        try:
            source = open(item.source, "rb")  # noqa: SIM115 - closed below
        except OSError as problem:
            return f"{item.source} cannot be read: {problem.strerror}"
        with source, open(temporary, "xb") as file:
            digest, size = hashlib.sha256(), 0
            for block in _blocks(source.fileno(), item.offset, item.size):
                digest.update(block)
                file.write(block)
                size += len(block)
            file.flush()
            os.fsync(file.fileno())
        if size != item.size:
            return f"{item.source} was cut off: {size} bytes of {item.size}"
        if item.sha256 is not None and digest.hexdigest() != item.sha256:
            return f"it is not what the run saved: {item.source} is damaged"
        with open(temporary, "rb") as file:
            if _digest(_blocks(file.fileno(), 0, size)) != digest.hexdigest():
                return "it was not written as it was read"
        os.chmod(temporary, 0o755 if item.executable else 0o644)
        os.rename(temporary, path)
        return None
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
