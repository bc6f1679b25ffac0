"""Locks and environments as text."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from voyageur.env.lock import Lock
from voyageur.env.model import Built
from voyageur.units import Duration, Size, counted


def locked_text(name: str, lock: Lock, changes: Sequence[tuple[str, str, str]]) -> str:
    made_from = " and ".join(source.name for source in lock.sources)
    count = len(lock.packages) or len(lock.holds)
    lines = [f"{name}: {counted(count, 'package')} for Python {lock.target.python}, from {made_from}"]
    if changes:
        lines += ["", "other versions than were wanted:", *_table([("PACKAGE", "WANTED", "TAKEN"), *changes]), ""]
    return "\n".join([*lines, "next: `voy env build` makes the environment"])


def _table(rows: Sequence[tuple[str, str, str]]) -> list[str]:
    first, second = (max(len(row[column]) for row in rows) for column in (0, 1))
    return [f"{row[0]:<{first}}  {row[1]:<{second}}  {row[2]}".rstrip() for row in rows]


def built_text(built: Built) -> str:
    size = f"{built.files:,} files of {built.unpacked} in one of {built.size}"
    return f"{built.archive}: {counted(len(built.packages), 'package')}, {size}"


def environments_text(
    found: Sequence[Built], runs: Mapping[str, Sequence[str]], own: str, missing: str, hint: str
) -> str:
    """Newest first; that of the project one stands in has a mark."""
    lines = [f"{missing}: `{hint}`"] if missing else []
    if not found:
        return "\n".join([*lines, "no environment was made yet"])
    rows: list[tuple[str, ...]] = [("KEY", "PYTHON", "PACKAGES", "FILES", "SIZE", "AGE", "RUNS", "MADE FROM")]
    rows += [_row(built, runs.get(built.key, ()), own) for built in found]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    table = ["  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([*table, *(["", *lines] if lines else [])])


def _row(built: Built, runs: Sequence[str], own: str) -> tuple[str, ...]:
    age = Duration(max(0, round(time.time() - built.made)))
    mark = "*" if built.key == own else ""
    return (
        built.key[:8] + mark,
        built.python,
        str(len(built.packages)),
        f"{built.files:,} in one {built.form.value}",
        str(built.size),
        _coarse(age),
        str(len(runs)),
        built.source,
    )


def _coarse(age: Duration) -> str:
    """Its largest unit alone."""
    unit, size = next(((unit, size) for unit, size in Duration.UNITS.items() if age.seconds >= size), ("s", 1))
    return f"{age.seconds // size} {unit}"


def environment_text(built: Built, runs: Sequence[str]) -> str:
    facts = [
        ("environment", built.key),
        ("file", f"{built.archive}, {built.size}"),
        ("holds", f"{built.files:,} files, {built.unpacked}"),
        ("digest", built.digest),
        ("Python", f"{built.python}, {built.base or 'its own'}"),
        ("modules", " ".join(built.modules) or "none"),
        ("made from", built.source),
        ("made on", built.site),
        ("runs", ", ".join(runs) or "none"),
    ]
    lines = [f"{name:<12} {text}" for name, text in facts]
    return "\n".join([*lines, "", *built.packages])


def pruned_text(old: Sequence[Built], rest: Sequence[tuple[str, int, Size]], wheels: int) -> str:
    lines = [
        f"{built.key}: {built.size}, {counted(len(built.packages), 'package')}, made from {built.source}"
        for built in old
    ]
    lines += [f"{key}: {size}, {counted(count, 'file')} left of a build that did not end" for key, count, size in rest]
    if wheels:
        lines.append(f"{counted(wheels, 'fetched wheel')}")
    return "\n".join(lines)
