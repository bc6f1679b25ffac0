"""Profiles: one TOML file a cluster, each group of facts beside its source and date; a profile may extend another.

Those of the package stand in `profiles/`. A user's own stand in a folder of theirs: one with the name of a profile of
the package is laid over it, any other is a site of its own.
"""

from __future__ import annotations

import os
import re
import tomllib
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from voyageur.errors import SiteError
from voyageur.site.model import Site, Status
from voyageur.site.reading import Table, Wrong, check, site_from

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_OWN = "your own "


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
    """Hidden files are those of editors."""
    files = (entry.name for entry in folder.iterdir())
    return {name.removesuffix(".toml") for name in files if name.endswith(".toml") and not name.startswith(".")}


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
        raise _circular((*above, label))
    table = _parsed(name, _text(name, file), None if label == name else file)
    whole, lineage = _laid_over(name, table, own, (*above, label))
    return whole, (*lineage, label)


def _label(name: str, file: Traversable) -> str:
    return name if file == _packaged(name) else f"{_OWN}{name}"


def _packaged(name: str) -> Traversable:
    return built_in() / f"{name}.toml"


def _laid_over(name: str, table: Table, own: Path | None, above: tuple[str, ...]) -> tuple[Table, tuple[str, ...]]:
    base = table.pop("extends", None)
    if base is None and above[-1] == f"{_OWN}{name}" and _packaged(name).is_file():
        base = name
    if base is None:
        return table, ()
    inherited, lineage = _inherited(base, own, above)
    return _merged(inherited, table), lineage


def _file(name: str, own: Path | None, above: tuple[str, ...]) -> Traversable:
    """A profile of the user's that extends its own name means the package's."""
    facts = [f"wanted by the profile of {above[-1].removeprefix(_OWN)}"] if above else []
    if not _NAME.fullmatch(name):
        hint = "a profile is named by its file's name without folder and `.toml`; `voy site list` shows those there are"
        raise SiteError(f"`{name}` is no name of a profile", facts=facts, hint=hint)
    itself = bool(above) and above[-1] == f"{_OWN}{name}"
    if own and not itself and os.path.lexists(own / f"{name}.toml"):
        return own / f"{name}.toml"
    if _packaged(name).is_file():
        return _packaged(name)
    if itself:
        raise _circular((*above, above[-1]))
    raise SiteError(f"there is no profile `{name}`", facts=facts, hint="`voy site list` shows those there are")


def _circular(way: tuple[str, ...]) -> SiteError:
    return SiteError(
        f"the profile of {way[0].removeprefix(_OWN)} extends itself",
        facts=[" -> ".join(way)],
        hint="take one `extends` away",
    )


def _merged(base: Table, over: Table) -> Table:
    """Table by table, key by key. `false` takes away what was inherited; both sources stay named."""
    whole = dict(base)
    for key, value in over.items():
        inherited = base.get(key)
        if value is False and key in base and not isinstance(inherited, bool):
            del whole[key]
        elif isinstance(value, dict) and isinstance(inherited, dict):
            whole[key] = _merged(inherited, value)
        elif key == "source" and isinstance(inherited, str) and inherited != value:
            whole[key] = f"{value}; {inherited}"
        else:
            whole[key] = value
    return whole


# ── from file to facts ───────────────────────────────────────────────────────────────────────────────────────────────


def _text(name: str, file: Traversable) -> str:
    what = f"the profile of {name} cannot be read"
    if not file.is_file():  # a folder, or a pipe that would keep us waiting
        raise SiteError(what, facts=[f"{file} is not a file"], hint="move it away, or put a file in its place")
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError as problem:
        where = f"{file}: byte {problem.start + 1} is not UTF-8"
        raise SiteError(what, facts=[where], hint="save it as UTF-8 text") from None
    except OSError as problem:
        raise SiteError(what, facts=[f"{file}: {problem.strerror}"], hint="is it yours to read?") from None


def _parsed(name: str, text: str, file: Traversable | None = None) -> Table:
    try:
        table = tomllib.loads(text)
        base = table.get("extends", "")
        if not isinstance(base, str):
            raise Wrong("extends", "the name of one profile is wanted")
        check({key: value for key, value in table.items() if key != "extends"})
    except (tomllib.TOMLDecodeError, Wrong) as problem:
        raise _not_right(name, problem, file) from None
    return table


def _site(name: str, table: Table, lineage: tuple[str, ...]) -> Site:
    if is_template(name):
        table = table | {"status": Status.TEMPLATE.value}
    try:
        return site_from(table, name, lineage)
    except Wrong as problem:
        raise _not_right(name, problem) from None


def _not_right(name: str, problem: ValueError, file: Traversable | None = None) -> SiteError:
    hint = problem.hint if isinstance(problem, Wrong) else None
    return SiteError(
        f"the profile of {name} is not right",
        facts=[str(problem), *([f"in {file}"] if file else [])],
        hint=hint or "the page `Sites` of the documentation lists the keys there are",
    )
