"""One rank in a container: says what it sees there, and writes it down."""

import argparse
import os
import platform

from voyageur import job

parser = argparse.ArgumentParser()
parser.add_argument("--out", required=True)
out = parser.parse_args().out

rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
node, python = os.environ["SLURMD_NODENAME"], platform.python_version()
print(f"rank {rank} of {world} on {node}: Python {python} of the image, home {os.environ['HOME']}", flush=True)
with open(os.path.join(out, f"rank-{rank}.txt"), "w") as file:
    file.write(f"{job.run} {node} {python}\n")
