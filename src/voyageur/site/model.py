"""What a cluster is, said without naming a job."""

from __future__ import annotations

import enum

from msgspec import Struct

from voyageur.units import Duration, Size


class Policy(enum.Enum):
    """How a site treats a flag of sbatch."""

    REQUIRED = "required"
    OPTIONAL = "optional"
    FORBIDDEN = "forbidden"


class Gpu(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One kind of GPU and the share of a node that comes with each."""

    name: str
    per_node: int
    cpus_each: int
    memory_each: Size


class Partition(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A queue, or the whole cluster where a router chooses the queue.

    CPUs and memory are those of its largest nodes; `memory_per_cpu` is what most of its nodes have.
    """

    name: str
    default: bool = False
    time_limit: Duration | None = None
    nodes: int = 0
    cpus: int = 0
    memory: Size = Size(0)
    memory_per_cpu: Size = Size(0)
    gpus: tuple[Gpu, ...] = ()

    def gpu(self, name: str | None, count: int) -> Gpu | None:
        """A kind of GPU of which one node has so many."""
        return next((gpu for gpu in self.gpus if name in (None, gpu.name) and gpu.per_node >= count), None)


class Site(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Unknown stays unknown: an empty field is never read as a promise."""

    name: str
    engine: str
    title: str
    source: str
    partitions: tuple[Partition, ...] = ()
    gpu_request: str = "--gres=gpu:{type}{count}"
    gpu_type_required: bool = False
    account: Policy = Policy.OPTIONAL
    partition: Policy = Policy.OPTIONAL
    scratch: str = "$SCRATCH"
    modules: tuple[str, ...] = ()
    kill_wait: Duration = Duration(30)
    message_timeout: Duration = Duration(10)
    login: str | None = None
    cluster: str | None = None

    def gpu_names(self) -> list[str]:
        return sorted({gpu.name for partition in self.partitions for gpu in partition.gpus if gpu.name})
