"""Locks of other tools: uv.lock, poetry.lock, Pipfile.lock, pylock.toml. Their versions and digests are taken as they
are; which of their packages this Python and machine needs is found out here."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from voyageur.env.wheel import Target, plain_name

NAMES = ("uv.lock", "poetry.lock", "Pipfile.lock", "pylock.toml")
MADE_FROM = {"uv.lock": "pyproject.toml", "poetry.lock": "pyproject.toml", "Pipfile.lock": "Pipfile"}


class PinError(ValueError):
    """Why a lock cannot be used."""


class Pinned(Struct, frozen=True, kw_only=True):
    """`digests` are those that will do, none where the lock has none; `wheels` are addresses, where it knows them."""

    name: str
    version: str
    digests: frozenset[str] = frozenset()
    wheels: dict[str, str] = {}
    direct: bool = False


class Foreign(Struct, frozen=True, kw_only=True):
    """A package that is a folder, a repository or an address: nothing that a wheel could be looked up for."""

    name: str
    source: str


def pins_of(root: Path, name: str, target: Target, python: str) -> tuple[Pinned, ...]:
    """`python` is its whole version. Raises PinError, and OSError."""
    text = (root / name).read_text(encoding="utf-8")
    marks = Marks(target, python)
    try:
        beside = _beside(root / name)
        if name.endswith("Pipfile.lock"):
            return tuple(_pipfile(json.loads(text), beside, marks))
        table = tomllib.loads(text)
        if Path(name).name == "uv.lock":
            _check_uv(table, beside)
            return tuple(_uv(table, marks))
        if Path(name).name == "poetry.lock":
            return tuple(_poetry(table, beside, marks))
        return tuple(_pylock(table, marks))
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        raise PinError(
            str(problem) if isinstance(problem, PinError) else f"it is not as expected: {problem!r}"
        ) from None


def _beside(lock: Path) -> dict[str, Any] | None:
    """The file that the lock was made from; None where there is none."""
    try:
        return tomllib.loads((lock.parent / MADE_FROM[lock.name]).read_text(encoding="utf-8"))
    except (OSError, KeyError):
        return None


def _too_old(wish: str, where: str) -> PinError:
    return PinError(f"it is older than {where}, which asks for {wish}")


class Marks:
    """Whether `sys_platform == "linux"` and the like hold there."""

    def __init__(self, target: Target, python: str) -> None:
        self.values = {
            "implementation_name": "cpython",
            "implementation_version": python,
            "os_name": "posix",
            "platform_machine": target.machine,
            "platform_python_implementation": "CPython",
            "platform_release": "",
            "platform_system": "Linux",
            "platform_version": "",
            "python_full_version": python,
            "python_version": target.python,
            "sys_platform": "linux",
        }

    def hold(self, text: Any, extras: Iterable[str] = ()) -> bool:
        if not isinstance(text, str) or not text.strip():
            return True
        from packaging.markers import InvalidMarker, Marker, UndefinedComparison, UndefinedEnvironmentName

        try:
            marker = Marker(text)
            return any(marker.evaluate({**self.values, "extra": extra}) for extra in ("", *extras))
        except (InvalidMarker, UndefinedComparison, UndefinedEnvironmentName):
            raise PinError(f"`{text}` is no mark that can be judged") from None

    def suits(self, versions: Any) -> bool:
        """`python-versions = ">=3.9"`"""
        if not isinstance(versions, str) or versions.strip() in ("", "*"):
            return True
        from packaging.specifiers import InvalidSpecifier, SpecifierSet

        try:
            return self.values["python_full_version"] in SpecifierSet(versions)
        except InvalidSpecifier:
            return True


# ── uv.lock ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _uv(table: Mapping[str, Any], marks: Marks) -> Iterator[Pinned]:
    packages: dict[str, list[dict[str, Any]]] = {}
    for one in table.get("package", ()):
        packages.setdefault(plain_name(one["name"]), []).append(one)
    roots = [one for several in packages.values() for one in several if _is_project(one)]
    if not roots:
        raise PinError("it has no project that it is for")
    wanted = {plain_name(each["name"]) for root in roots for each in root.get("dependencies", ())}
    seen: set[tuple[str, str]] = set()
    chosen: dict[str, dict[str, Any]] = {}
    waiting = [(each, False) for root in roots for each in root.get("dependencies", ())]
    while waiting:
        asked, _ = waiting.pop()
        if not marks.hold(asked.get("marker")):
            continue
        one = _uv_package(packages, asked, marks)
        extras = [str(extra) for extra in asked.get("extra", ())]
        name = plain_name(one["name"])
        for extra in ("", *extras):
            if (name, extra) not in seen:
                seen.add((name, extra))
                more = one.get("optional-dependencies", {}).get(extra, ()) if extra else one.get("dependencies", ())
                waiting += [(each, True) for each in more]
        if not _is_project(one):
            chosen[name] = one
    for name, one in sorted(chosen.items()):
        if "registry" not in one.get("source", {}):
            raise PinError(f"{name} comes from {_place(one)}, which has no wheel to look up")
        wheels = {str(each["url"]): _bare(each.get("hash")) for each in one.get("wheels", ()) if "url" in each}
        yield Pinned(
            name=name,
            version=str(one["version"]),
            digests=frozenset(wheels.values()) - {""},
            wheels=wheels,
            direct=name in wanted,
        )


def _check_uv(table: Mapping[str, Any], project: Mapping[str, Any] | None) -> None:
    """The lock repeats what it was made from. A wish that has no bound there comes from a source of its own."""
    from packaging.requirements import Requirement
    from packaging.specifiers import SpecifierSet

    known: dict[str, list[Any]] = {}
    for one in filter(_is_project, table.get("package", ())):
        for each in one.get("metadata", {}).get("requires-dist", ()):
            known.setdefault(plain_name(each["name"]), []).append(each.get("specifier"))
    for text in (project or {}).get("project", {}).get("dependencies", ()):
        wish = Requirement(text)
        bounds = known.get(plain_name(wish.name))
        if bounds is None or not any(bound is None or SpecifierSet(bound) == wish.specifier for bound in bounds):
            raise _too_old(text, "pyproject.toml")


def _is_project(one: Mapping[str, Any]) -> bool:
    source = one.get("source", {})
    return "virtual" in source or "editable" in source


def _uv_package(packages: Mapping[str, list[dict[str, Any]]], asked: Mapping[str, Any], marks: Marks) -> dict[str, Any]:
    """Of several versions the one that is named, or whose marks hold."""
    several = packages.get(plain_name(asked["name"]), [])
    for one in several:
        if asked.get("version") in (None, one.get("version")) and any(
            marks.hold(mark) for mark in one.get("resolution-markers", [""])
        ):
            return one
    raise PinError(f"it has no package {asked['name']} for this Python and machine")


def _place(one: Mapping[str, Any]) -> str:
    return " ".join(f"{kind} {where}" for kind, where in one.get("source", {}).items()) or "nowhere"


# ── poetry.lock ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _poetry(table: Mapping[str, Any], project: Mapping[str, Any] | None, marks: Marks) -> Iterator[Pinned]:
    if project is None:
        raise PinError("there is no pyproject.toml beside it, which says what is wanted")
    packages: dict[str, list[dict[str, Any]]] = {}
    for one in table.get("package", ()):
        packages.setdefault(plain_name(one["name"]), []).append(one)
    wanted = list(_poetry_wanted(project, marks))
    waiting, chosen = [(wish.name, wish.extras) for wish in wanted], {}
    seen: set[tuple[str, tuple[str, ...]]] = set()
    while waiting:
        name, extras = waiting.pop()
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        one = next((each for each in packages.get(name, ()) if _poetry_fits(each, marks)), None)
        if one is None:
            raise PinError(f"it has no package {name} for this Python and machine; is it older than pyproject.toml?")
        chosen[name] = one
        for other, how in one.get("dependencies", {}).items():
            for each in how if isinstance(how, list) else [how]:
                if _poetry_asks(each, one, other, extras, marks):
                    waiting.append((plain_name(other), _extras(each)))
    for wish in wanted:
        _check_poetry(wish, str(chosen[wish.name]["version"]))
    direct = {wish.name for wish in wanted}
    for name, one in sorted(chosen.items()):
        if one.get("source", {}).get("type", "legacy") != "legacy":
            raise PinError(f"{name} comes from {one['source'].get('url')}, which has no wheel to look up")
        digests = frozenset(_bare(each["hash"]) for each in one.get("files", ()) if each["file"].endswith(".whl"))
        yield Pinned(name=name, version=str(one["version"]), digests=digests, direct=name in direct)


class _PoetryWish(Struct, frozen=True, kw_only=True):
    name: str
    text: str
    extras: tuple[str, ...] = ()
    bound: str = ""


def _poetry_wanted(project: Mapping[str, Any], marks: Marks) -> Iterator[_PoetryWish]:
    """What [project] names, its own table only adds to."""
    from packaging.requirements import Requirement

    named = set()
    for text in project.get("project", {}).get("dependencies", ()):
        one = Requirement(text)
        named.add(plain_name(one.name))
        if one.marker is None or marks.hold(str(one.marker)):
            extras = tuple(sorted(one.extras))
            yield _PoetryWish(name=plain_name(one.name), text=text, extras=extras, bound=str(one.specifier))
    for name, how in project.get("tool", {}).get("poetry", {}).get("dependencies", {}).items():
        if name == "python" or plain_name(name) in named:
            continue
        for each in how if isinstance(how, list) else [how]:
            if _poetry_wants(each, marks):
                yield _PoetryWish(name=plain_name(name), text=name, extras=_extras(each))


def _poetry_wants(how: Any, marks: Marks) -> bool:
    if not isinstance(how, dict):
        return True
    if how.get("optional") or how.get("platform", "linux") != "linux":
        return False
    return marks.hold(how.get("markers")) and marks.suits(how.get("python"))


def _extras(how: Any) -> tuple[str, ...]:
    return tuple(sorted(how.get("extras", ()))) if isinstance(how, dict) else ()


def _check_poetry(wish: _PoetryWish, version: str) -> None:
    from packaging.specifiers import SpecifierSet

    if not SpecifierSet(wish.bound).contains(version, prereleases=True):
        raise _too_old(wish.text, "pyproject.toml")


def _poetry_fits(one: Mapping[str, Any], marks: Marks) -> bool:
    marker = one.get("markers")
    texts = marker.values() if isinstance(marker, dict) else [marker]
    return marks.suits(one.get("python-versions")) and any(marks.hold(text) for text in texts)


def _poetry_asks(how: Any, one: Mapping[str, Any], other: str, extras: Iterable[str], marks: Marks) -> bool:
    if not isinstance(how, dict):
        return True
    if how.get("optional"):
        listed = one.get("extras", {})
        brought = {plain_name(text.split(" ")[0]) for extra in extras for text in listed.get(extra, ())}
        return plain_name(other) in brought and marks.hold(how.get("markers"), extras)
    return marks.hold(how.get("markers"), extras)


# ── Pipfile.lock ─────────────────────────────────────────────────────────────────────────────────────────────────────


def _pipfile(table: Mapping[str, Any], wish: Mapping[str, Any] | None, marks: Marks) -> Iterator[Pinned]:
    wanted = {plain_name(name): how for name, how in (wish or {}).get("packages", {}).items()}
    _check_pipfile(wanted, table)
    for name, one in sorted(table.get("default", {}).items()):
        if not marks.hold(one.get("markers")):
            continue
        version = str(one.get("version", ""))
        if not version.startswith("=="):
            raise PinError(f"{name} has no version: it comes from {one.get('git') or one.get('path') or 'elsewhere'}")
        digests = frozenset(_bare(each) for each in one.get("hashes", ()))
        direct = plain_name(name) in wanted or (wish is None and "index" in one)
        yield Pinned(name=plain_name(name), version=version.removeprefix("=="), digests=digests, direct=direct)


def _check_pipfile(wanted: Mapping[str, Any], table: Mapping[str, Any]) -> None:
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    versions = {plain_name(name): str(one.get("version", "")) for name, one in table.get("default", {}).items()}
    for name, how in wanted.items():
        bound = str(how.get("version", "*") if isinstance(how, dict) else how)
        try:
            holds = SpecifierSet("" if bound == "*" else bound)
        except InvalidSpecifier:
            continue
        pin = versions.get(name)
        if pin is None or (pin and not holds.contains(pin.removeprefix("=="), prereleases=True)):
            raise _too_old(name if bound == "*" else f"{name}{bound}", "Pipfile")


# ── pylock.toml ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _pylock(table: Mapping[str, Any], marks: Marks) -> Iterator[Pinned]:
    for one in table.get("packages", ()):
        if not marks.hold(one.get("marker")):
            continue
        if "version" not in one or "directory" in one or "vcs" in one:
            raise PinError(f"{one['name']} has no wheel to look up")
        wheels = {
            str(each.get("url") or each.get("path")): each.get("hashes", {}).get("sha256", "")
            for each in one.get("wheels", ())
        }
        digests = frozenset(wheels.values()) - {""}
        yield Pinned(
            name=plain_name(one["name"]), version=str(one["version"]), digests=digests, wheels=wheels, direct=True
        )


def _bare(digest: Any) -> str:
    return str(digest or "").removeprefix("sha256:")
