"""A dataset of small files, and ways to make the machine forget it."""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path

COUNT = 100_000
FOLDERS = 100


def make_files(folder: Path, count: int, folders: int) -> None:
    """Of 2 to 18 kB, as small pictures are; their bytes cannot be compressed."""
    chance = random.Random(4)
    noise = chance.randbytes(1 << 20)
    for number in range(count):
        if number < folders:
            (folder / f"{number:04}").mkdir(parents=True)
        size = chance.randint(2_000, 18_000)
        start = chance.randint(0, len(noise) - size)
        (folder / f"{number % folders:04}" / f"{number:06}.jpg").write_bytes(noise[start : start + size])


def forget() -> bool:
    """Empties the page cache; only root may."""
    subprocess.run(["sync"], check=True)
    try:
        Path("/proc/sys/vm/drop_caches").write_text("3\n")
    except OSError:
        return False
    return True


def remove(*paths: Path) -> None:
    for path in paths:
        if path.exists():
            os.unlink(path)
