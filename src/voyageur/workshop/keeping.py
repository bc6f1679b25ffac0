"""The folder of environments: what is whole, what is left of builds that died, and how either goes away.

Only what bears a name and a record of ours is touched.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from voyageur.env.model import Built
from voyageur.env.store import all_built
from voyageur.runtime.staging.sums import SUFFIX
from voyageur.units import Size
from voyageur.workshop.claim import is_held

MAKING = ".making-"
_OURS = re.compile(
    rf"(?:\.making-)?([0-9a-f]{{24}})\.(?:tar|squashfs|json|log|(?:[0-9a-f]{{8}}\.)?order|claim)(?:{re.escape(SUFFIX)})?"
)
# Of a file that is written whole or not at all, by the process of this number.
_HALF_WRITTEN = re.compile(rf"\.([0-9a-f]{{24}})\.(?:json|[a-z]+{re.escape(SUFFIX)})\.[0-9]+")


class Leftover(Struct, frozen=True, kw_only=True):
    """Files of a build that did not come to its end, or of a job for one. The log of a whole one is none."""

    key: str
    files: tuple[str, ...]
    size: Size


def leftovers(folder: Path) -> list[Leftover]:
    whole = {built.key for built in all_built(folder)}
    found: dict[str, list[Path]] = {}
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        match = _OURS.fullmatch(path.name) or _HALF_WRITTEN.fullmatch(path.name)
        is_half = match and (match[1] not in whole or path.suffix == ".order" or path.name.startswith("."))
        if match and is_half and not is_held(folder / f"{match[1]}.claim"):
            found.setdefault(match[1], []).append(path)
    return [
        Leftover(key=key, files=tuple(path.name for path in paths), size=Size(sum(_size(path) for path in paths)))
        for key, paths in sorted(found.items())
    ]


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def remove(folder: Path, key: str) -> None:
    """The record first: from then on nothing takes it for whole."""
    for path in _files_of(folder, key):
        path.unlink(missing_ok=True)


def clear(folder: Path, rest: Leftover) -> None:
    """An environment of the same key that is whole stays."""
    for name in sorted(rest.files, key=lambda name: not name.endswith(".json")):
        (folder / name).unlink(missing_ok=True)


def _files_of(folder: Path, key: str) -> Iterator[Path]:
    yield folder / f"{key}.json"
    for path in (*sorted(folder.glob(f"{key}.*")), *halves(folder, key)):
        if _OURS.fullmatch(path.name) or _HALF_WRITTEN.fullmatch(path.name):
            yield path


def halves(folder: Path, key: str) -> list[Path]:
    """What only a build that is at work, or was killed, has under these names."""
    written = (path for path in folder.glob(f".{key}.*") if _HALF_WRITTEN.fullmatch(path.name))
    return sorted((*folder.glob(f"{MAKING}{key}*"), *written))


def is_ours(folder: Path, built: Built) -> bool:
    return Path(built.archive).parent == folder and bool(_OURS.fullmatch(Path(built.archive).name))


def cached_wheels(cache: Path) -> list[Path]:
    try:
        with os.scandir(cache) as entries:
            return sorted(Path(entry.path) for entry in entries if entry.name.endswith(".whl") and entry.is_file())
    except OSError:
        return []
