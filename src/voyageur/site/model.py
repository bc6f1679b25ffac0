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


class Gpu(Struct, frozen=True, kw_only=True):
    """One kind of GPU and the share of a node that comes with each."""

    name: str
    per_node: int
    cpus_each: int
    memory_each: Size


class Partition(Struct, frozen=True, kw_only=True):
    """A queue, or the whole cluster where a router chooses the queue."""

    name: str
    default: bool = False
    time_limit: Duration | None = None
    nodes: int = 0
    cpus: int = 0
    memory: Size = Size(0)
    gpus: tuple[Gpu, ...] = ()

    def gpu(self, name: str | None) -> Gpu | None:
        return next((gpu for gpu in self.gpus if name in (None, gpu.name)), None)


class Site(Struct, frozen=True, kw_only=True):
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

    def gpu_names(self) -> list[str]:
        return sorted({gpu.name for partition in self.partitions for gpu in partition.gpus if gpu.name})
