"""What a cluster says of itself when it is asked everything. None and empty: it did not answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from voyageur.site.facts import Medium, Reach
from voyageur.site.queues import Gpu, Partition
from voyageur.slurm_text.survey import NodeKind, PartitionRow, QosRow
from voyageur.units import Duration, Size


class NodeLook(Struct, frozen=True, kw_only=True):
    """What a job found on the node it ran on."""

    host: str = ""
    variable: str | None = None
    path: str | None = None
    medium: Medium = Medium.UNKNOWN
    size: Size | None = None
    internet: Reach = Reach.UNKNOWN
    pythons: tuple[str, ...] = ()
    containers: tuple[str, ...] = ()
    gpus: int = 0


class Seen(Struct, frozen=True, kw_only=True):
    """`kinds` are the nodes behind all partitions together, each counted once."""

    cluster: str = ""
    version: str = ""
    kill_wait: Duration | None = None
    message_timeout: Duration | None = None
    array: int | None = None
    partitions: tuple[Partition, ...] = ()
    closed: tuple[str, ...] = ()
    kinds: tuple[NodeKind, ...] = ()
    qos: tuple[QosRow, ...] = ()
    system: str | None = None
    scratch: str | None = None
    missing_modules: tuple[str, ...] = ()
    host: str = ""
    domain: str = ""
    node: NodeLook | None = None


def partitions_seen(kinds: Sequence[NodeKind], rows: Iterable[PartitionRow], preempts: bool) -> tuple[Partition, ...]:
    """Those that take jobs. `preempts`: does this Slurm ever stop a job for another's sake?"""
    listed = list(rows)
    highest = max((row.tier for row in listed), default=1)
    found = []
    for row in listed:
        own = [kind for kind in kinds if kind.partition == row.name]
        if row.up and own:
            found.append(_partition(row, own, preempts and row.preempted and row.tier < highest))
    return tuple(found)


def _partition(row: PartitionRow, kinds: Sequence[NodeKind], preemptible: bool) -> Partition:
    usual, disk = max(kinds, key=lambda kind: kind.nodes), min(kind.disk for kind in kinds)
    return Partition(
        name=row.name,
        default=row.default,
        time_limit=row.time_limit,
        nodes=sum(kind.nodes for kind in kinds),
        nodes_per_job=row.most_nodes,
        nodes_least=row.least_nodes if row.least_nodes and row.least_nodes > 1 else None,
        cpus=max(kind.cpus for kind in kinds),
        memory=max(kind.memory for kind in kinds),
        memory_per_cpu=Size.of_mebibytes(usual.memory.mebibytes // max(1, usual.cpus)),
        whole_node=row.exclusive,
        gpus=gpus_of(kinds),
        local_disk=disk if disk.bytes else None,
        preemptible=preemptible,
        grace=row.grace if preemptible else None,
    )


def gpus_of(kinds: Iterable[NodeKind]) -> tuple[Gpu, ...]:
    """Each model once, as many as its best node has."""
    found: dict[str, Gpu] = {}
    for kind in kinds:
        for name, count in kind.gpus.items():
            if name not in found or found[name].per_node < count:
                found[name] = Gpu(
                    name=name,
                    per_node=count,
                    cpus_each=max(1, kind.cpus // count),
                    memory_each=Size.of_mebibytes(kind.memory.mebibytes // count),
                )
    return tuple(found.values())


def kinds_seen(kinds: Iterable[NodeKind]) -> tuple[NodeKind, ...]:
    """The nodes of a cluster stand in many partitions; the one with most of a kind has them all, most likely."""
    found: dict[tuple[object, ...], NodeKind] = {}
    for kind in kinds:
        key = (kind.cpus, kind.memory, tuple(sorted(kind.gpus.items())))
        if key not in found or found[key].nodes < kind.nodes:
            found[key] = kind
    return tuple(found.values())


# ── from a job's lines ───────────────────────────────────────────────────────────────────────────────────────────────

_MARK = "voyageur: "
_IN_MEMORY = ("tmpfs", "ramfs", "rootfs", "devtmpfs")
_ON_DISK = ("ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs", "jfs", "reiserfs")


def node_look_from(answer: str) -> NodeLook | None:
    """None when the job did not come to its end. Other lines are a site's own greetings."""
    lines = [line.removeprefix(_MARK) for line in answer.splitlines() if line.startswith(_MARK)]
    facts = dict(pair for line in lines if len(pair := line.split("=", 1)) == 2)
    if "looked" not in lines:
        return None
    kilobytes = facts.get("size", "")
    return NodeLook(
        host=facts.get("host", ""),
        variable=facts.get("variable") or None,
        path=facts.get("path") or None,
        medium=_medium(facts.get("kind", "")),
        size=Size(int(kilobytes) * 1024) if kilobytes.isdigit() and int(kilobytes) else None,
        internet=Reach(facts["internet"])
        if facts.get("internet") in {reach.value for reach in Reach}
        else Reach.UNKNOWN,
        pythons=tuple(facts.get("pythons", "").split()),
        containers=tuple(facts.get("containers", "").split()),
        gpus=_count(facts),
    )


def _medium(kind: str) -> Medium:
    if kind in _IN_MEMORY:
        return Medium.MEMORY
    return Medium.DISK if kind in _ON_DISK else Medium.UNKNOWN


def _count(facts: Mapping[str, str]) -> int:
    text = facts.get("gpus", "")
    return int(text) if text.isdigit() else 0
