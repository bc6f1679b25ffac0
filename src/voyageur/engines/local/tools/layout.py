"""Which task runs on which node. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

from .hostlist import expand
from .names import Node


class Refused(Exception):
    """What was asked for cannot be; said in one line."""


class Place(NamedTuple):
    """A task's rank in the step, its number on its node, and that node's number in the step."""

    rank: int
    local: int
    node: int


def choose_nodes(job: Sequence[Node], asked: str, wanted: str, tasks: int) -> list[Node]:
    """As many as asked for, never more than tasks; those that `wanted` names come first into the choice."""
    named = [_find(job, name) for name in _expand(wanted)]
    others = [node for node in job if node not in named]
    chosen = [*named, *others][: min(_count(asked, len(job)), tasks)]
    return sorted(chosen, key=job.index)


def _expand(wanted: str) -> list[str]:
    try:
        return expand(wanted)
    except ValueError as problem:
        raise Refused(f"invalid node list: {problem}") from None


def _find(job: Sequence[Node], name: str) -> Node:
    for node in job:
        if name in node:
            return node
    raise Refused(f"node {name} is not one of this job's: {','.join(node.name for node in job)}")


def _count(asked: str, there: int) -> int:
    """`2`, or `1-4` for as many of these as there are."""
    least, dash, most = asked.partition("-")
    if not least.isdecimal() or int(least) < 1 or (dash and not most.isdecimal()):
        raise Refused(f'invalid numeric value "{asked}" for --nodes')
    if int(least) > there:
        raise Refused(f"{least} nodes asked for, but this job has {there}")
    return min(int(most or least), there)


def shares(tasks: int, nodes: int) -> list[int]:
    """Even; the first nodes have one more when it does not divide. So does Slurm 22.05: 5 on 3 nodes are 2,2,1."""
    each, left = divmod(tasks, nodes)
    return [each + (number < left) for number in range(nodes)]


def place_tasks(tasks: int, nodes: int, is_cyclic: bool) -> list[Place]:
    """Rank by rank: a node is filled before the next one begins, or the ranks are dealt out in turn."""
    if is_cyclic:
        return [Place(rank=rank, local=rank // nodes, node=rank % nodes) for rank in range(tasks)]
    slots = ((node, local) for node, share in enumerate(shares(tasks, nodes)) for local in range(share))
    return [Place(rank=rank, local=local, node=node) for rank, (node, local) in enumerate(slots)]


def shares_in_words(counts: Sequence[int]) -> str:
    """As in SLURM_TASKS_PER_NODE: 2(x2),1."""
    runs = [(count, len(list(same))) for count, same in itertools.groupby(counts)]
    return ",".join(f"{count}(x{times})" if times > 1 else str(count) for count, times in runs)
