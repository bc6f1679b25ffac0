"""Wheels by their names: which package, which version, and which Python and machine they are for."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

_NAME = re.compile(r"(?P<name>[^-]+)-(?P<version>[^-]+)(?:-(?P<build>\d[^-]*))?-(?P<tags>[^-]+-[^-]+-[^-]+)\.whl")
_LIBC = re.compile(r"(glibc|musl) (\d+)\.(\d+)")
_OLD_GLIBC = {"manylinux1": (2, 5), "manylinux2010": (2, 12), "manylinux2014": (2, 17)}


def plain_name(name: str) -> str:
    """`-`, `_` and `.` are the same in a package's name, and so are capitals."""
    return re.sub(r"[-_.]+", "-", name).lower()


class Target(Struct, frozen=True, kw_only=True):
    """`python` like 3.11, `machine` like x86_64, `libc` like `glibc 2.37`."""

    python: str
    machine: str
    libc: str = ""

    def __str__(self) -> str:
        return " ".join(filter(None, ["linux", self.machine, self.libc]))

    @property
    def tags(self) -> tuple[str, ...]:
        """Of the wheels that work there, the best first."""
        return tuple(dict.fromkeys(_tags(self)))


class Wheel(Struct, frozen=True, kw_only=True):
    file: str
    name: str
    version: str
    tags: tuple[str, ...]

    def rank(self, target: Target) -> int | None:
        """The smaller the better; None when it does not work there."""
        order = {tag: place for place, tag in enumerate(target.tags)}
        return min((order[tag] for tag in self.tags if tag in order), default=None)


def wheel_from(file: str) -> Wheel | None:
    match = _NAME.fullmatch(file)
    if not match:
        return None
    pythons, interfaces, platforms = (part.split(".") for part in match["tags"].split("-"))
    tags = tuple(f"{one}-{two}-{three}" for one in pythons for two in interfaces for three in platforms)
    return Wheel(file=file, name=plain_name(match["name"]), version=match["version"], tags=tags)


def why_not(wheel: Wheel, target: Target) -> str:
    """In words; empty for one that works."""
    if wheel.rank(target) is not None:
        return ""
    here = {tag.split("-")[2] for tag in target.tags}
    theirs = list(dict.fromkeys(tag.split("-")[2] for tag in wheel.tags))
    if not any(platform in here for platform in theirs):
        return f"it is for {' and '.join(theirs)}, and this is {target}"
    pythons = dict.fromkeys("-".join(tag.split("-")[:2]) for tag in wheel.tags)
    return f"it is for the Python of {' and '.join(pythons)}, and this is Python {target.python}"


def _tags(target: Target) -> Iterator[str]:
    major, minor = (int(number) for number in target.python.split(".")[:2])
    platforms = list(_platforms(target))
    own = f"cp{major}{minor}"
    yield from (f"{own}-{own}-{platform}" for platform in platforms)
    for interface in ("abi3", "none"):
        yield from (f"{own}-{interface}-{platform}" for platform in platforms)
    for older in range(minor - 1, 1, -1):
        yield from (f"cp{major}{older}-abi3-{platform}" for platform in platforms)
    pythons = [f"py{major}{minor}", f"py{major}", *(f"py{major}{older}" for older in range(minor - 1, -1, -1))]
    yield from (f"{python}-none-{platform}" for python in pythons for platform in platforms)
    yield f"{own}-none-any"
    yield from (f"{python}-none-any" for python in pythons)


def _platforms(target: Target) -> Iterator[str]:
    match = _LIBC.fullmatch(target.libc)
    if match:
        kind, major, newest = match[1], int(match[2]), int(match[3])
        family = "manylinux" if kind == "glibc" else "musllinux"
        oldest = 0 if kind == "musl" else 5 if target.machine in ("x86_64", "i686") else 17
        for minor in range(newest, oldest - 1, -1):
            yield f"{family}_{major}_{minor}_{target.machine}"
            for old, needs in _OLD_GLIBC.items():
                if kind == "glibc" and needs == (major, minor):
                    yield f"{old}_{target.machine}"
    yield f"linux_{target.machine}"
