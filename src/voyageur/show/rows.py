"""Rows and grids of words, before anybody knows how wide the terminal is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

NOT_KNOWN = "not known"


class Row(Struct, frozen=True):
    name: str
    text: str


class Entry(Struct, frozen=True):
    """`more` stands on lines of its own below the cells."""

    cells: tuple[str, ...]
    more: str = ""


class Grid(Struct, frozen=True):
    """Columns in which no entry has anything are not shown."""

    head: tuple[str, ...]
    entries: tuple[Entry, ...]
    legend: tuple[str, ...] = ()


def rows(*pairs: tuple[str, object]) -> Iterator[Row]:
    """What has nothing to say is no row."""
    return (Row(name, str(text)) for name, text in pairs if text)


def listed(items: Iterable[object], by: str = ", ") -> str:
    """What there is to say, one after the other."""
    return by.join(str(item) for item in items if item)


def either(items: Iterable[object]) -> str:
    """`1, 2 or 4`"""
    *first, last = [str(item) for item in items] or [""]
    return f"{', '.join(first)} or {last}" if first else last
