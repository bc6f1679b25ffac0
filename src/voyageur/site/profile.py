"""Profiles: one TOML file a cluster, each group of facts beside its source and date; a profile may extend another.

Those of the package stand in `profiles/`. A user's own stand in a folder of theirs: one with the name of a profile of
the package is laid over it, any other is a site of its own.
"""

from __future__ import annotations

import datetime
import tomllib
from collections.abc import Iterable
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin

import msgspec

from voyageur.errors import SiteError
from voyageur.site.model import Site, Status
from voyageur.units import Duration, Size, UnitError

Table = dict[str, Any]


def built_in() -> Traversable:
    return resources.files("voyageur.site") / "profiles"


def names(own: Path | None = None) -> list[str]:
    """Of all profiles that are a cluster, retired ones too. A file that cannot be read is still somebody's profile."""
    return sorted({name for name in _all_names(own) if not is_template(name)})


def own_names(own: Path | None) -> list[str]:
    return sorted(_names_in(own)) if own and own.is_dir() else []


def _all_names(own: Path | None) -> set[str]:
    return {*_names_in(built_in()), *own_names(own)}


def _names_in(folder: Traversable) -> set[str]:
    return {entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml")}


def is_template(name: str) -> bool:
    """Templates are named like no cluster, so that a list of names need not read them all."""
    return name.startswith("any-")


def load(name: str, own: Path | None = None) -> Site:
    table, lineage = _inherited(name, own, ())
    return _site(name, table, lineage)


def from_toml(name: str, text: str) -> Site:
    """One text on its own, which extends nothing but profiles of the package."""
    table, lineage = _laid_over(name, _parsed(name, text), None, (name,))
    return _site(name, table, (*lineage, name))


# ── inheritance ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _inherited(name: str, own: Path | None, above: tuple[str, ...]) -> tuple[Table, tuple[str, ...]]:
    """The whole table of a profile, and what it was made of, base first. `above`: those on the way to it."""
    file = _file(name, own, above)
    label = _label(name, file)
    if label in above:
        raise SiteError(
            f"the profile of {above[0].removeprefix(_OWN)} extends itself",
            facts=[" -> ".join((*above, label))],
            hint="take one `extends` away",
        )
    table = _parsed(label, file.read_text(encoding="utf-8"))
    whole, lineage = _laid_over(name, table, own, (*above, label))
    return whole, (*lineage, label)


_OWN = "your own "


def _label(name: str, file: Traversable) -> str:
    return name if file == built_in() / f"{name}.toml" else f"{_OWN}{name}"


def _laid_over(name: str, table: Table, own: Path | None, above: tuple[str, ...]) -> tuple[Table, tuple[str, ...]]:
    base = table.pop("extends", None)
    if base is None and above[-1].startswith(_OWN) and (built_in() / f"{name}.toml").is_file():
        base = name
    if base is None:
        return table, ()
    if not isinstance(base, str):
        raise SiteError(f"the profile of {name} is not right", facts=["`extends` names one profile"])
    inherited, lineage = _inherited(base, None if base == name else own, above)
    return _merged(inherited, table), lineage


def _file(name: str, own: Path | None, above: tuple[str, ...]) -> Traversable:
    places: list[Traversable] = [*([own] if own else []), built_in()]
    for folder in places:
        file = folder / f"{name}.toml"
        if file.is_file():
            return file
    facts = [f"wanted by the profile of {above[-1]}"] if above else []
    raise SiteError(f"there is no profile `{name}`", facts=facts, hint="`voy site list` shows those there are")


def _merged(base: Table, over: Table) -> Table:
    """Table by table, key by key. `false` for a table takes away what was inherited; both sources stay named."""
    whole = dict(base)
    for key, value in over.items():
        inherited = base.get(key)
        if isinstance(value, dict) and isinstance(inherited, dict):
            whole[key] = _merged(inherited, value)
        elif key == "source" and isinstance(inherited, str) and inherited != value:
            whole[key] = f"{value}; {inherited}"
        else:
            whole[key] = value
    return whole


# ── from text to facts ───────────────────────────────────────────────────────────────────────────────────────────────


def _parsed(name: str, text: str) -> Table:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise _not_right(name, str(problem)) from None


def _site(name: str, table: Table, lineage: tuple[str, ...]) -> Site:
    facts = {"engine": "slurm", **table, "name": name, "lineage": list(lineage)}
    if is_template(name):
        facts["status"] = Status.TEMPLATE.value
    try:
        return msgspec.convert(_prepared(facts, Site), Site, strict=True)
    except (msgspec.ValidationError, UnitError) as problem:
        raise _not_right(name, str(problem)) from None


def _not_right(name: str, problem: str) -> SiteError:
    return SiteError(
        f"the profile of {name} is not right",
        facts=[problem],
        hint="the page `Sites` of the documentation lists the keys there are",
    )


def _prepared(value: Any, kind: Any) -> Any:
    """Texts like `7d` and `124G` as what they mean, tables by name as lists of what has a name."""
    if isinstance(kind, UnionType):
        kind = next(part for part in get_args(kind) if part is not type(None))
    if kind is str and isinstance(value, datetime.date):
        return value.isoformat()
    if kind in (Duration, Size):
        return _measure(value, kind)
    if get_origin(kind) is tuple:
        return _several(value, get_args(kind)[0])
    if isinstance(value, dict) and isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        kinds = {field.name: field.type for field in msgspec.structs.fields(kind)}
        return {key: _prepared(item, kinds.get(key)) for key, item in value.items()}
    return value


def _measure(value: Any, kind: Any) -> Any:
    if not isinstance(value, str):
        raise UnitError(f"{value!r}: a text with its unit is wanted, like 24h or 124G")
    try:
        return msgspec.to_builtins(kind.parse(value))
    except UnitError as problem:
        raise UnitError(f"{value!r}: {problem}") from None


def _several(value: Any, kind: Any) -> Any:
    if isinstance(value, dict):
        return [_named(name, item, kind) for name, item in value.items() if item is not False]
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [_prepared(item, kind) for item in value]
    return value


def _named(name: str, item: Any, kind: Any) -> Any:
    return _prepared({"name": name, **item}, kind) if isinstance(item, dict) else item
