"""Started once on every node: says where it is, and uses this node's cores with workers of its own."""

import os
from concurrent.futures import ProcessPoolExecutor


def count_primes(below):
    return sum(all(number % divisor for divisor in range(2, int(number**0.5) + 1)) for number in range(2, below))


if __name__ == "__main__":
    node, nodes = int(os.environ.get("SLURM_NODEID", 0)), int(os.environ.get("SLURM_NNODES", 1))
    cores = int(os.environ.get("SLURM_CPUS_PER_TASK", 1))
    name = os.environ.get("SLURMD_NODENAME", os.uname().nodename)
    with ProcessPoolExecutor(cores) as workers:
        counts = list(workers.map(count_primes, [10_000] * cores))
    print(f"node {node} of {nodes}, {name}: {cores} workers found {counts[0]} primes below 10000 each")
