"""avail_wheels of the Alliance: what its wheelhouse has, as text."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct


class Wheel(Struct, frozen=True, kw_only=True):
    """One requirement; `version` is what the wheelhouse has of it, `nearest` what it has instead."""

    requirement: str
    version: str | None = None
    nearest: str | None = None

    @property
    def is_there(self) -> bool:
        return self.version is not None

    def __str__(self) -> str:
        return f"{self.requirement} (it has {self.nearest})" if self.nearest else self.requirement


def wheels_argv(command: str, requirements: Sequence[str], *, python: str | None, all_versions: bool) -> list[str]:
    """Behind the options of several values comes another option, or the requirements would be taken for more."""
    pythons = ["--python", python] if python else []
    versions = ["--all-versions"] if all_versions else []
    return [command, *pythons, "--column", "name", "version", *versions, "--not-available", *requirements]


def versions_from(answer: str) -> dict[str, list[str]] | None:
    """Versions by name, none for a name that stands alone in its row. None where there is no table at all."""
    lines = answer.splitlines()
    heads = [spot for spot, line in enumerate(lines) if line.split()[:2] == ["name", "version"]]
    if not heads:
        return None
    found: dict[str, list[str]] = {}
    for line in lines[heads[0] + 1 :]:
        words = line.split()
        if words and not line.startswith("---"):
            found.setdefault(plain_name(words[0]), []).extend(words[1:2])
    return found


def plain_name(requirement: str) -> str:
    """Without version and extras; `-`, `_` and `.` are the same to pip, and so are capitals."""
    name = re.split(r"[\s\[;<>=!~@]", requirement.strip(), maxsplit=1)[0]
    return re.sub(r"[-_.]+", "-", name).lower()


def is_bound(requirement: str) -> bool:
    return re.search(r"[<>=!~]", requirement.partition(";")[0]) is not None


def nearest_version(requirement: str, versions: Sequence[str]) -> str | None:
    """The one nearest to the first version that is named, the newer of two."""
    match = re.search(r"[<>=!~]=?\s*([\d.]+)", requirement)
    wanted = _as_number(match[1]) if match else 0.0
    return min(versions, key=lambda has: (abs(_as_number(has) - wanted), -_as_number(has)), default=None)


def _as_number(version: str) -> float:
    """What follows the third number of a version tells no two of them apart that matter."""
    numbers = re.findall(r"\d+", version.partition("+")[0])[:3]
    return float(sum(int(number) / 1000**power for power, number in enumerate(numbers)))
