"""Dask: `Client()` finds the scheduler that runs beside it."""

import os
from collections import Counter

from dask.distributed import Client


def square(number):
    return number**2, os.environ.get("SLURMD_NODENAME", "here")


if __name__ == "__main__":
    client = Client()
    workers = len(client.scheduler_info(n_workers=-1)["workers"])
    answers = client.gather(client.map(square, range(40)))
    nodes = Counter(node for _, node in answers)
    print(f"{workers} workers: sum of squares {sum(value for value, _ in answers)}, computed on {dict(nodes)}")
