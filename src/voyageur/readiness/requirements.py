"""Which packages a project asks for: names and pins, for whoever can ask the site's wheelhouse. Nothing is fetched."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

REQUIREMENTS_FILES = ("requirements.txt", "requirements/base.txt", "requirements/requirements.txt")
_REQUIREMENT = re.compile(r"([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*(?:\[[^\]]*\])?\s*\(?\s*([^;#)]*)")
_PIN = re.compile(r"={2,3}\s*([\w.!+-]+)")
_INCLUDE = re.compile(r"(?:-r|--requirement)[\s=]+(\S+)")
_DEEPEST = 5


class Requirement(Struct, frozen=True, kw_only=True):
    """`version` only where one is pinned. `name` as wheels are named: small letters, and `-` for `_` and `.`"""

    name: str
    version: str | None
    file: str
    line: int


def requirements_of(root: Path) -> tuple[Requirement, ...]:
    """Of requirements.txt and its like, and of pyproject.toml; each package once."""
    found: dict[str, Requirement] = {}
    for file in REQUIREMENTS_FILES:
        for each in _from_text(root, file, 0):
            found.setdefault(each.name, each)
    for each in _from_pyproject(root):
        found.setdefault(each.name, each)
    return tuple(found.values())


def requirement_in(text: str, file: str, line: int) -> Requirement | None:
    """`torch==2.1.0 ; python_version > "3.8"`, `name[extra]>=1`, `name @ https://...`; None for what is none."""
    match = _REQUIREMENT.match(text.strip())
    if not match or text.strip().startswith(("-", ".", "/", "#")) or "://" in text.partition("@")[0]:
        return None
    pin = _PIN.search(match[2])
    version = pin[1] if pin and "*" not in match[2] and "," not in match[2] else None
    return Requirement(name=re.sub(r"[-_.]+", "-", match[1]).lower(), version=version, file=file, line=line)


def _from_text(root: Path, file: str, depth: int) -> Iterator[Requirement]:
    for number, line in enumerate(_lines(root / file), 1):
        include = _INCLUDE.match(line.strip())
        if include and depth < _DEEPEST:
            yield from _from_text(root, str(Path(file).parent / include[1]), depth + 1)
        elif each := requirement_in(line, file, number):
            yield each


def _from_pyproject(root: Path) -> Iterator[Requirement]:
    lines = _lines(root / "pyproject.toml")
    try:
        project = tomllib.loads("\n".join(lines)).get("project", {})
    except tomllib.TOMLDecodeError:
        return
    wanted = project.get("dependencies", []) if isinstance(project, dict) else []
    for text in wanted if isinstance(wanted, list) else []:
        line = next((number for number, each in enumerate(lines, 1) if str(text) in each), 1)
        if isinstance(text, str) and (found := requirement_in(text, "pyproject.toml", line)):
            yield found


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8-sig", errors="replace").splitlines() if path.is_file() else []
    except OSError:
        return []
