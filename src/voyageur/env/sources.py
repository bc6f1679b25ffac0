"""What a project says of its packages, in whichever of the usual files, as one kind of wish."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from voyageur.env.lock import Source
from voyageur.env.requirements import NoFile, Requirement, Requirements, requirement, requirements_from


class SourceError(ValueError):
    """Why a file cannot be used: `what` and a hint."""

    def __init__(self, what: str, hint: str) -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint


class Wants(Struct, frozen=True, kw_only=True):
    """What is wanted, together; `files` are those that were read, `python` what they say of it."""

    wanted: tuple[Requirement, ...] = ()
    constraints: tuple[Requirement, ...] = ()
    options: tuple[str, ...] = ()
    foreign: tuple[Requirement, ...] = ()
    files: tuple[str, ...] = ()

    def __add__(self, other: Wants) -> Wants:
        return Wants(
            wanted=self.wanted + other.wanted,
            constraints=self.constraints + other.constraints,
            options=self.options + other.options,
            foreign=self.foreign + other.foreign,
            files=tuple(dict.fromkeys(self.files + other.files)),
        )


def wants_of(root: Path, names: Iterable[str]) -> Wants:
    """Raises SourceError, and NoFile."""
    total = Wants()
    for name in names:
        total += _read(root, name)
    return total


def _read(root: Path, name: str) -> Wants:
    if Path(name).name == "pyproject.toml":
        return _pyproject(root, name)
    found: Requirements = requirements_from(root, [name])
    return Wants(
        wanted=found.wanted,
        constraints=found.constraints,
        options=found.options,
        foreign=found.foreign,
        files=found.files,
    )


def digests_of(root: Path, files: Iterable[str]) -> tuple[Source, ...]:
    """As they are now. One that is gone has none."""
    return tuple(Source(name=name, sha256=_digest(root / name)) for name in files)


def _digest(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


# ── pyproject.toml ───────────────────────────────────────────────────────────────────────────────────────────────────


def _pyproject(root: Path, name: str) -> Wants:
    project = _toml(root, name).get("project")
    if not isinstance(project, dict):
        raise SourceError(f"{name} has no table [project]", "name the file that says which packages are wanted")
    listed = project.get("dependencies", [])
    return Wants(wanted=tuple(_listed(listed, name)), files=(name,))


def _listed(texts: Any, name: str) -> Iterator[Requirement]:
    for text in texts if isinstance(texts, list) else []:
        if isinstance(text, str) and text.strip():
            yield requirement(text, name)


def _toml(root: Path, name: str) -> dict[str, Any]:
    try:
        return tomllib.loads((root / name).read_text(encoding="utf-8"))
    except OSError as problem:
        raise NoFile(name, "env.requirements", problem.strerror or "it cannot be read") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise SourceError(f"{name} is no TOML: {problem}", "mend that line") from None
