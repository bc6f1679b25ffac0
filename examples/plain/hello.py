"""An ordinary program: it takes a folder, does something, writes a result."""

import argparse
import os
from pathlib import Path

parser = argparse.ArgumentParser()
parser.add_argument("--out", default=".")
options = parser.parse_args()

print("run:          ", os.environ.get("VOY_RUN", "(not in a run)"))
print("started in:   ", os.getcwd())
print("fast own disk:", os.environ.get("SLURM_TMPDIR", "(not in a run)"))

squares = "".join(f"{number} {number**2}\n" for number in range(10))
result = Path(options.out) / "squares.txt"
result.write_text(squares)
print("result:       ", result)
