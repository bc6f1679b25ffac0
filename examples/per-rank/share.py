"""Started once for each rank: every rank takes its own share of the work and writes a file of its own."""

import argparse
import os
from pathlib import Path

parser = argparse.ArgumentParser()
parser.add_argument("--out", default=".")
options = parser.parse_args()

rank, ranks = int(os.environ.get("SLURM_PROCID", 0)), int(os.environ.get("SLURM_NTASKS", 1))
mine = range(100)[rank::ranks]
total = sum(number**2 for number in mine)
(Path(options.out) / f"part-{rank}.txt").write_text(f"{total}\n")
print(
    f"rank {rank} of {ranks} on {os.environ.get('SLURMD_NODENAME', 'this machine')}: {len(mine)} squares, sum {total}"
)
