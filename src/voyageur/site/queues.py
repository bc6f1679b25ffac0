"""Partitions, and the GPUs in their nodes."""

from __future__ import annotations

import enum

from msgspec import Struct

from voyageur.site.facts import Facts
from voyageur.units import Duration, Size


class Gpu(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One kind of GPU and the share of a node that comes with each; zero where nobody says what comes with it.

    `counts` are the numbers that may be asked for on one node; empty is any. `weight` is what one costs in an hour.
    `also` are other names that the site takes for it. `one_node`: of `counts`, those that only a job of one node may
    have. `vendor`: where it is not that of the site's other GPUs.
    """

    name: str
    per_node: int
    cpus_each: int = 0
    memory_each: Size = Size(0)
    counts: tuple[int, ...] = ()
    one_node: tuple[int, ...] = ()
    per_job: int | None = None
    own_memory: Size | None = None
    slice: bool = False
    also: tuple[str, ...] = ()
    weight: float | None = None
    vendor: str | None = None
    note: str = ""

    def is_called(self, name: str | None) -> bool:
        return name in (None, self.name, *self.also)

    def allows(self, count: int) -> bool:
        return count <= self.per_node and (not self.counts or count in self.counts)


class Purpose(enum.Enum):
    PRODUCTION = "production"
    DEBUG = "debug"
    INTERACTIVE = "interactive"
    TRANSFER = "transfer"
    SERIAL = "serial"


class Partition(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A queue, or the whole cluster where a router chooses the queue.

    CPUs and memory are those of its largest nodes that a job may use; `memory_per_cpu` is what most of its nodes have.
    `flag` is what `--partition` gets, if that is not the name. `charge` multiplies what an hour of it costs.
    """

    name: str
    flag: str | None = None
    qos: str | None = None
    constraint: str | None = None
    purpose: Purpose = Purpose.PRODUCTION
    default: bool = False
    time_limit: Duration | None = None
    time_minimum: Duration | None = None
    nodes: int = 0
    nodes_per_job: int | None = None
    nodes_least: int | None = None
    cpus: int = 0
    memory: Size = Size(0)
    memory_per_cpu: Size = Size(0)
    whole_node: bool = False
    gpus: tuple[Gpu, ...] = ()
    local_disk: Size | None = None
    preemptible: bool = False
    grace: Duration | None = None
    running: int | None = None
    submitted: int | None = None
    charge: float = 1.0
    note: str = ""

    def gpu(self, name: str | None, count: int) -> Gpu | None:
        """A kind of GPU of which one node has so many, whole ones before slices."""
        fitting = [gpu for gpu in self.gpus if gpu.is_called(name) and gpu.allows(count)]
        return min(fitting, key=lambda gpu: gpu.slice, default=None)


class Queues(Facts, frozen=True, kw_only=True):
    """`trap` is the partition or QOS that Slurm takes when none is named, where that is the wrong one."""

    partitions: tuple[Partition, ...] = ()
    trap: str | None = None
