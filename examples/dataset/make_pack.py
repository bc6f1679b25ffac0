"""Makes the dataset: 2,000 small arrays in one archive, as `voy data pack` would make it of 2,000 files.

python make_pack.py SCRATCH/dataset/points.tar
"""

import io
import sys
import tarfile
from pathlib import Path

import numpy as np


def main(target: Path) -> None:
    chance = np.random.default_rng(7)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(target, "w") as tar:
        for number in range(2_000):
            kind = number % 3
            point = chance.normal(loc=[kind, -kind, 0.5 * kind], scale=0.7).astype(np.float32)
            content = io.BytesIO()
            np.save(content, point)
            member = tarfile.TarInfo(f"{kind}/{number:04}.npy")
            member.size = content.tell()
            content.seek(0)
            tar.addfile(member, content)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
