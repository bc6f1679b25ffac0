"""Differences as a profile that is laid over the one they were found against: TOML, and nothing but what differs."""

from __future__ import annotations

import enum
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import fields

from voyageur.site.differences import Difference
from voyageur.units import Duration, Size

SOURCE = "voy site probe"
Table = dict[str, Any]


def overlay_text(name: str, found: Sequence[Difference], date: str, title: str | None = None) -> str:
    """Empty when nothing is taken over. With a `title` it is a profile of its own, laid over no other."""
    tree = _tree([difference for difference in found if difference.taken], date)
    if not tree and title is None:
        return ""
    if title is not None:
        head = f"# What the cluster said of itself, {date}. Nothing is known of what it did not say.\n"
        return head + _emitted({"title": title, **tree})
    return f"# Laid over the profile {name}: what the cluster says otherwise, {date}.\n" + _emitted(tree)


def _tree(taken: Sequence[Difference], date: str) -> Table:
    """Each group of facts names its source and date first."""
    tree: Table = {}
    for difference in taken:
        *above, last = difference.path
        table = tree
        for depth, key in enumerate(above):
            table = table.setdefault(key, {"source": SOURCE, "date": date} if depth == 0 else {})
        table[last] = _value(difference.cluster)
    return tree


def _value(fact: Any) -> Any:
    """As it is written in a profile: what has a name is a table by that name."""
    if isinstance(fact, Size):
        return f"{fact.mebibytes}M" if fact.bytes % Size.UNITS["M"] == 0 else f"{fact.bytes // 1024}K"
    if isinstance(fact, Duration):
        return str(fact)
    if isinstance(fact, enum.Enum):
        return fact.value
    if isinstance(fact, Struct):
        return _table(fact)
    if isinstance(fact, tuple | list) and fact and isinstance(fact[0], Struct):
        return {item.name: _table(item) for item in fact}
    return list(fact) if isinstance(fact, tuple) else fact


def _table(fact: Any) -> Table:
    """What is as it is by default need not be said."""
    said = {field.name: getattr(fact, field.name) for field in fields(fact) if field.name != "name"}
    usual = {field.name: field.default for field in fields(fact)}
    return {key: _value(value) for key, value in said.items() if value != usual.get(key) and value not in (None, ())}


# ── TOML ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _emitted(tree: Table) -> str:
    return "\n".join([*_lines(tree, ()), ""])


def _lines(table: Table, path: tuple[str, ...]) -> Iterator[str]:
    """A table's own values stand before the tables in it."""
    inner = {key: value for key, value in table.items() if isinstance(value, dict)}
    own = {key: value for key, value in table.items() if key not in inner}
    if path and (own or not inner):
        yield f"\n[{'.'.join(_key(key) for key in path)}]"
    yield from (f"{_key(key)} = {_written(value)}" for key, value in own.items())
    for key, value in inner.items():
        yield from _lines(value, (*path, key))


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _text(key)


def _written(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return f"[{', '.join(_written(item) for item in value)}]"
    return str(value) if isinstance(value, int | float) else _text(str(value))


def _text(text: str) -> str:
    """JSON's strings are TOML's, but for one letter that TOML wants escaped."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
