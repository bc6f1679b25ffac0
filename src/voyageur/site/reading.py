"""From a table of TOML to the facts of a site, or to the very key that is wrong."""

from __future__ import annotations

import datetime
import enum
import functools
from types import UnionType
from typing import Any, get_args, get_origin

import msgspec

from voyageur.site.model import Site
from voyageur.units import Duration, Size, UnitError

Table = dict[str, Any]

_OURS = ("name", "lineage")  # not the profile's to say: its file's name is its name


class Wrong(ValueError):
    """`where` is the way to the key, as it would be written in one line of the profile."""

    def __init__(self, where: str, what: str, hint: str | None = None) -> None:
        super().__init__(f"{where}: {what}")
        self.hint = hint


def check(table: Table) -> None:
    """One file by itself, so that a mistake is told of the file that holds it. What it lacks, another may have."""
    _struct(_without_false(table), Site, "", whole=False)


def site_from(table: Table, name: str, lineage: tuple[str, ...]) -> Site:
    """The whole of what the files of the lineage say together."""
    facts = {"engine": "slurm", **table}
    ready = _struct(facts, Site, "", whole=True) | {"name": name, "lineage": lineage}
    return msgspec.convert(ready, Site, strict=True)


def _without_false(table: Table) -> Table:
    kept = {key: _without_false(value) if isinstance(value, dict) else value for key, value in table.items()}
    return {key: value for key, value in kept.items() if value is not False}


# ── tables ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@functools.cache
def _keys(kind: type[msgspec.Struct]) -> dict[str, tuple[Any, bool]]:
    """The type of each key without its `None`, and whether it must be there."""
    fields = msgspec.structs.fields(kind)
    hidden = _OURS if kind is Site else ()
    return {field.name: (_certain(field.type), field.required) for field in fields if field.name not in hidden}


def _certain(kind: Any) -> Any:
    if isinstance(kind, UnionType):
        return next(part for part in get_args(kind) if part is not type(None))
    return kind


def _struct(table: Any, kind: type[msgspec.Struct], where: str, whole: bool) -> Table:
    if not isinstance(table, dict):
        raise _unlike(table, "a table", where)
    keys = _keys(kind)
    for key in table:
        if key not in keys:
            raise Wrong(_at(where, key), "unknown key", _meant(key, list(keys), top=not where))
    if whole:
        for key, (_, required) in keys.items():
            if required and key not in table:
                raise Wrong(_at(where, key), "is missing")
    return {key: _value(item, keys[key][0], _at(where, key), whole) for key, item in table.items()}


def _structs(value: Any, kind: type[msgspec.Struct], where: str, whole: bool) -> list[Table]:
    """Tables by name become a list of what has a name."""
    if isinstance(value, list):
        return [_struct(item, kind, f"{where}[{number}]", whole) for number, item in enumerate(value)]
    if not isinstance(value, dict):
        raise _unlike(value, "a table for each name", where)
    found = []
    for name, item in value.items():
        named = {"name": name, **item} if isinstance(item, dict) else item
        found.append(_value(named, kind, _at(where, name), whole))
    return found


def _at(where: str, key: str) -> str:
    shown = key if key.replace("-", "").replace("_", "").isalnum() else f'"{key}"'
    return f"{where}.{shown}" if where else shown


def _meant(key: str, keys: list[str], top: bool) -> str | None:
    from difflib import get_close_matches

    homes = [group for group, (kind, _) in _keys(Site).items() if isinstance(kind, type(Site)) and key in _keys(kind)]
    if top and homes:
        return f"`{key}` belongs in the table [{homes[0]}]"
    near = get_close_matches(key, keys, n=1)
    return f"did you mean `{near[0]}`?" if near else None


# ── values ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _value(value: Any, kind: Any, where: str, whole: bool) -> Any:
    """Texts like `7d` and `124G` become what they mean."""
    if value is False and kind is not bool and whole:
        raise Wrong(where, "`false` takes away what was inherited, and nothing was")
    if kind in (Duration, Size):
        return _measure(value, kind, where)
    if get_origin(kind) is tuple:
        return _several(value, get_args(kind)[0], where, whole)
    if issubclass(get_origin(kind) or kind, msgspec.Struct):
        return _struct(value, kind, where, whole)
    return _plain(value, kind, where)


def _several(value: Any, kind: type, where: str, whole: bool) -> list[Any]:
    if issubclass(kind, msgspec.Struct) and kind not in (Duration, Size):
        return _structs(value, kind, where, whole)
    if not isinstance(value, list):
        raise _unlike(value, "a list", where)
    return [_value(item, kind, f"{where}[{number}]", whole=False) for number, item in enumerate(value)]


def _measure(value: Any, kind: type[Duration | Size], where: str) -> Any:
    if not isinstance(value, str):
        raise _unlike(value, "a text with its unit, like 24h or 124G,", where)
    try:
        return msgspec.to_builtins(kind.parse(value))
    except UnitError as problem:
        raise Wrong(where, f"`{value}`: {problem}") from None


def _plain(value: Any, kind: Any, where: str) -> Any:
    if isinstance(value, datetime.date):
        value = value.isoformat()
    if issubclass(get_origin(kind) or kind, enum.Enum) and value not in [choice.value for choice in kind]:
        raise _unlike(value, f"one of {', '.join(choice.value for choice in kind)}", where)
    try:
        msgspec.convert(value, kind, strict=True)
    except msgspec.ValidationError:
        raise _unlike(value, _CALLED[kind], where) from None
    return value


_LONG = 60  # letters of a wrong value; more of it explains nothing
_CALLED = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    dict[str, str]: "a table of texts",
}


def _unlike(value: Any, wanted: str, where: str) -> Wrong:
    shown = msgspec.json.encode(value).decode()
    return Wrong(where, f"{wanted} is wanted, not `{shown if len(shown) < _LONG else shown[:_LONG] + '...'}`")
