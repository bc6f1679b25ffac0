"""Datasets to stage, and the surroundings of a task that stages them."""

import os
import random
import tarfile
from pathlib import Path

from voyageur.job.data.index import SUFFIX
from voyageur.job.data.indexing import index_archives

TOKEN = "0123456789ab"


def make_pack(path: Path, members: int = 40, size: int = 500_000, seed: int = 1) -> Path:
    """A tar with its index; by default of three chunks."""
    chance = random.Random(seed)
    folder = path.with_suffix(".raw")
    folder.mkdir(parents=True)
    with tarfile.open(path, "w") as tar:
        for number in range(members):
            (folder / f"{number:04}.bin").write_bytes(chance.randbytes(size))
            tar.add(folder / f"{number:04}.bin", f"{number:04}.bin")
    Path(f"{path}{SUFFIX}").write_bytes(b"".join(index_archives([str(path)])))
    return path


def flip_byte(path: Path, offset: int) -> None:
    """And keep the time, as a disk would that goes bad."""
    times = os.stat(path)
    with open(path, "r+b") as file:
        file.seek(offset)
        byte = file.read(1)[0]
        file.seek(offset)
        file.write(bytes([byte ^ 1]))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def around(disk: Path, run: Path, stage: str = "{}", **more: str) -> dict[str, str]:
    """What a task finds in its environment."""
    run.mkdir(exist_ok=True)
    return {
        "VOY_TOKEN": TOKEN,
        "VOY_TMP_BASE": str(disk),
        "VOY_ATTEMPT": "1",
        "VOY_RUN": "train-0123",
        "VOY_RUN_DIR": str(run),
        "VOY_STAGE": stage,
        "SLURMD_NODENAME": "n1",
        **more,
    }
