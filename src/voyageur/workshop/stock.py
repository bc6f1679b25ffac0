"""What folders of wheels have: which versions of which packages work here."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from msgspec import Struct

from voyageur.allowance.wheels import nearest_version
from voyageur.env.requirements import Requirement
from voyageur.env.wheel import Target, plain_name, wheel_from


def public(version: str) -> str:
    """Without the mark of who built it: `1.26.4+computecanada` is 1.26.4."""
    return version.partition("+")[0]


class Stock(Struct, frozen=True, kw_only=True):
    """`versions` that work here, by name."""

    versions: dict[str, tuple[str, ...]]

    def has(self, one: Requirement) -> bool:
        """Also true for a bound that cannot be read: then the resolver says what is wrong with it."""
        from packaging.specifiers import InvalidSpecifier, SpecifierSet

        found = self.versions.get(one.name, ())
        try:
            bound = SpecifierSet(one.bound)
        except InvalidSpecifier:
            return True
        return any(bound.contains(public(version), prereleases=True) for version in found)

    def nearest(self, one: Requirement) -> str | None:
        return nearest_version(f"{one.name}{one.bound}", self.versions.get(one.name, ()))


class Lack(Struct, frozen=True, kw_only=True):
    """Something that is wanted and not there; `nearest` is what is there instead, empty for nothing."""

    wanted: Requirement
    nearest: str

    def __str__(self) -> str:
        what = f"{self.wanted.name}{self.wanted.bound}"
        return f"{what}: it has {self.nearest}" if self.nearest else f"{what}: it has none"


def stock_of(folders: Iterable[str], target: Target, names: Iterable[str]) -> Stock:
    """Of these packages alone: a wheelhouse has tens of thousands of files."""
    wanted = set(names)
    found: dict[str, set[str]] = {}
    for folder in folders:
        for file in _files(folder):
            if plain_name(file.partition("-")[0]) not in wanted:
                continue
            wheel = wheel_from(file)
            if wheel and wheel.rank(target) is not None:
                found.setdefault(wheel.name, set()).add(wheel.version)
    return Stock(versions={name: tuple(sorted(versions)) for name, versions in found.items()})


def lacks(stock: Stock, wanted: Sequence[Requirement]) -> list[Lack]:
    return [Lack(wanted=one, nearest=stock.nearest(one) or "") for one in wanted if not stock.has(one)]


def _files(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:  # an address of files, or a folder for another machine
        return []
