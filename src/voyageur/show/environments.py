"""Locks and environments as text."""

from __future__ import annotations

from collections.abc import Sequence

from voyageur.env.lock import Lock
from voyageur.env.model import Built


def locked_text(name: str, lock: Lock, changes: Sequence[tuple[str, str, str]]) -> str:
    made_from = " and ".join(source.name for source in lock.sources)
    count = len(lock.packages) or len(lock.holds)
    lines = [f"{name}: {count} packages for Python {lock.target.python}, from {made_from}"]
    if changes:
        lines += ["", "other versions than were wanted:", *_table([("PACKAGE", "WANTED", "TAKEN"), *changes]), ""]
    return "\n".join([*lines, "next: `voy env build` makes the environment"])


def _table(rows: Sequence[tuple[str, str, str]]) -> list[str]:
    first, second = (max(len(row[column]) for row in rows) for column in (0, 1))
    return [f"{row[0]:<{first}}  {row[1]:<{second}}  {row[2]}".rstrip() for row in rows]


def built_text(built: Built) -> str:
    size = f"{built.files:,} files of {built.unpacked} in one of {built.size}"
    return f"{built.archive}: {len(built.packages)} packages, {size}"
