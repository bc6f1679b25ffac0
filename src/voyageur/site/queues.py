"""Partitions, and the GPUs in their nodes."""

from __future__ import annotations

import enum

from msgspec import Struct

from voyageur.site.facts import Facts, Medium, Reach
from voyageur.units import Duration, Size


class Gpu(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One kind of GPU and the share of a node that comes with each; zero where nobody says.

    `counts` are the numbers that may be asked for on one node; empty is any. Those for each of several nodes are
    `counts_multinode`, where they differ. `weight` is what one costs in an hour; `bill_cpus` and `bill_memory` are the
    slice of a node that is paid with one, where that is not the share that comes with it. `also` are other names that
    the site takes for it. `vendor` is named where it is not that of the site's other GPUs.
    """

    name: str
    per_node: int = 0
    cpus_each: int = 0
    memory_each: Size = Size(0)
    counts: tuple[int, ...] = ()
    counts_multinode: tuple[int, ...] = ()
    per_job: int | None = None
    own_memory: Size | None = None
    slice: bool = False
    also: tuple[str, ...] = ()
    weight: float | None = None
    bill_cpus: int = 0
    bill_memory: Size = Size(0)
    vendor: str | None = None
    note: str = ""

    def is_called(self, name: str | None) -> bool:
        return name in (None, self.name, *self.also)

    def allows(self, count: int, nodes: int = 1) -> bool:
        counts = self.counts_on(nodes)
        return (not self.per_node or count <= self.per_node) and (not counts or count in counts)

    def counts_on(self, nodes: int) -> tuple[int, ...]:
        return self.counts_multinode if nodes > 1 and self.counts_multinode else self.counts


class Purpose(enum.Enum):
    PRODUCTION = "production"
    DEBUG = "debug"
    INTERACTIVE = "interactive"
    TRANSFER = "transfer"
    SERIAL = "serial"


class Partition(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A queue, or the whole cluster where a router chooses the queue.

    CPUs and memory are those of its largest nodes that a job may use; `memory_per_cpu` is what most of its nodes have.
    `installed` is the memory built into its nodes; a job may have less, and how much less nobody says. `flag` is what
    `--partition` gets, if that is not the name; one that is not `named` is had by naming none. `nodes_unallocated` is
    the most for jobs that are charged to no allocation of their own. With `job_caps`, CPUs, memory and GPUs are the
    most for a job on all of its nodes together. `charge` multiplies what an hour of it costs.
    `account_form` is a pattern for the accounts that may be charged there. `restricted`: open only to those whom the
    site lets in. `node_time` is a limit for nodes times hours. Nodes whose own folder is of another kind than that of
    the site's others have a `local_medium` and a `local_request`, and `internet` where they see more or less of it.
    """

    name: str
    flag: str | None = None
    named: bool = True
    qos: str | None = None
    constraint: str | None = None
    purpose: Purpose = Purpose.PRODUCTION
    default: bool = False
    time_limit: Duration | None = None
    time_minimum: Duration | None = None
    node_time: Duration | None = None
    nodes: int = 0
    nodes_per_job: int | None = None
    nodes_unallocated: int | None = None
    nodes_least: int | None = None
    cpus: int = 0
    memory: Size = Size(0)
    memory_per_cpu: Size = Size(0)
    installed: Size = Size(0)
    whole_node: bool = False
    job_caps: bool = False
    gpus: tuple[Gpu, ...] = ()
    local_disk: Size | None = None
    local_medium: Medium | None = None
    local_request: str | None = None
    internet: Reach | None = None
    account_form: str | None = None
    restricted: bool = False
    preemptible: bool = False
    grace: Duration | None = None
    running: int | None = None
    submitted: int | None = None
    charge: float = 1.0
    note: str = ""

    def gpu(self, name: str | None, count: int, nodes: int = 1) -> Gpu | None:
        """A kind of GPU of which one node has so many, whole ones before slices."""
        fitting = [gpu for gpu in self.gpus if gpu.is_called(name) and gpu.allows(count, nodes)]
        return min(fitting, key=lambda gpu: gpu.slice, default=None)

    def cpus_with(self, gpu: Gpu) -> int:
        """Where nobody says what comes with a GPU, it is its share of the node; zero where that is not known either."""
        return gpu.cpus_each or self.cpus // max(1, gpu.per_node)

    def memory_with(self, gpu: Gpu) -> Size:
        share = Size.of_mebibytes(self.memory.mebibytes // max(1, gpu.per_node))
        return gpu.memory_each if gpu.memory_each.bytes else share


class Queues(Facts, frozen=True, kw_only=True):
    """`trap` is the partition or QOS that Slurm takes when none is named, where that is the wrong one."""

    partitions: tuple[Partition, ...] = ()
    trap: str | None = None
