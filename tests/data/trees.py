"""Folders full of files, and packs of them."""

from __future__ import annotations

import os
import random
from pathlib import Path

from voyageur.data.pack import pack
from voyageur.data.packing import Report


def nothing(*_: object) -> None:
    pass


def packed(
    source: Path | list[Path], out: Path, *, shard: int = 0, follow: bool = False, force: bool = False
) -> Report:
    sources = [str(path) for path in ([source] if isinstance(source, Path) else source)]
    return pack(sources, str(out), shard=shard, follow=follow, force=force, listed=nothing, done=nothing)


def many_files(folder: Path, count: int = 300, seed: int = 1, folders: int = 5) -> Path:
    """Samples of two files each, in some folders."""
    chance = random.Random(seed)
    for number in range(count // 2):
        place = folder / f"class{number % folders}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{number:05}.jpg").write_bytes(chance.randbytes(chance.randint(0, 9000)))
        (place / f"{number:05}.cls").write_text(str(number % folders))
    return folder


def contents(folder: Path) -> dict[bytes, bytes]:
    """Every file below, by its name."""
    root = os.fsencode(folder)
    found = {}
    for place, _, names in os.walk(root):
        for name in names:
            path = os.path.join(place, name)
            if not os.path.islink(path):
                with open(path, "rb") as file:
                    found[os.path.relpath(path, root)] = file.read()
    return found
