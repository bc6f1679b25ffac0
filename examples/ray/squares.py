"""Ray: its cluster is there when this starts, one worker on each node."""

import os
from collections import Counter

import ray

ray.init(logging_level="ERROR")


@ray.remote(num_cpus=1, scheduling_strategy="SPREAD")
def square(number):
    return number**2, os.environ.get("SLURMD_NODENAME", "here")


answers = ray.get([square.remote(number) for number in range(40)])
nodes = Counter(node for _, node in answers)
print(f"{len(ray.nodes())} nodes: sum of squares {sum(value for value, _ in answers)}, computed on {dict(nodes)}")
