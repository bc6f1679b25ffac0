"""An MPI program: every rank its own share of an integral, added up on the first."""

import sys

from mpi4py import MPI

world = MPI.COMM_WORLD
if "--fail-on" in sys.argv and int(sys.argv[-1]) == world.rank:
    raise RuntimeError(f"rank {world.rank} was told to fail")
steps = 100_000
part = sum(4 / (1 + ((number + 0.5) / steps) ** 2) for number in range(world.rank, steps, world.size)) / steps
pi = world.allreduce(part)
total = world.allreduce(world.rank)
print(f"rank {world.rank} of {world.size}: sum of ranks {total}, pi {pi:.6f}", flush=True)
