"""What a cluster is, said without naming a job."""

from __future__ import annotations

import enum
from collections.abc import Iterator

from msgspec import Struct

from voyageur.site.facts import (
    Access,
    Accounting,
    Conduct,
    Facts,
    Fingerprint,
    Limits,
    LocalDisk,
    Network,
    Request,
    Software,
    Storage,
    Times,
)
from voyageur.site.queues import Partition, Queues
from voyageur.units import Duration


class Status(enum.Enum):
    PRODUCTION = "production"
    RETIRED = "retired"
    TEMPLATE = "template"  # facts that other profiles extend; no cluster by itself


class Site(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Unknown stays unknown: an empty field is never read as a promise. `lineage`: what it was made of, base first."""

    name: str
    engine: str
    title: str
    status: Status = Status.PRODUCTION
    successor: str | None = None
    ended: str | None = None
    lineage: tuple[str, ...] = ()
    kill_wait: Duration = Duration(30)
    message_timeout: Duration = Duration(10)
    access: Access = Access()
    request: Request = Request()
    times: Times = Times()
    queues: Queues = Queues()
    local_disk: LocalDisk = LocalDisk()
    storage: Storage = Storage()
    network: Network = Network()
    software: Software = Software()
    limits: Limits = Limits()
    accounting: Accounting = Accounting()
    conduct: Conduct = Conduct()
    fingerprint: Fingerprint = Fingerprint()

    @property
    def partitions(self) -> tuple[Partition, ...]:
        return self.queues.partitions

    def groups(self) -> Iterator[tuple[str, Facts]]:
        """The groups of facts by their names, as they stand in a profile."""
        for name in self.__struct_fields__:
            if isinstance(group := getattr(self, name), Facts):
                yield name, group

    def gpu_names(self, slices: bool = True) -> list[str]:
        found = (gpu for partition in self.partitions for gpu in partition.gpus)
        return sorted({gpu.name for gpu in found if gpu.name and (slices or not gpu.slice)})
