"""What the nodes are called: a name to show, and an address that every resolver on every Linux understands."""

from __future__ import annotations

from typing import NamedTuple


class Node(NamedTuple):
    """All of 127.0.0.0/8 is this machine, so what listens on one node's address is met there, and only there."""

    name: str
    address: str


def nodes(count: int) -> list[Node]:
    return [
        Node(name=f"local{number}", address=f"127.0.{number >> 8}.{number & 255}") for number in range(1, count + 1)
    ]


def addresses(count: int) -> str:
    """As SLURM_JOB_NODELIST: without brackets, so that programs that take it apart themselves can."""
    return ",".join(node.address for node in nodes(count))
