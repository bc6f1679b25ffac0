"""A site made by asking: what sinfo and scontrol say of this cluster, what the kernel says of this machine."""

from __future__ import annotations

import os
from collections.abc import Sequence

from voyageur.site.facts import Request
from voyageur.site.model import Site
from voyageur.site.queues import Gpu, Partition, Queues
from voyageur.slurm_text import NodeGroup, config_from, node_groups
from voyageur.units import Duration, Size


def site_from_answers(nodes_answer: str, config_answer: str) -> Site:
    """The generic `slurm` site, from the answers to `sinfo` and `scontrol show config`."""
    config = config_from(config_answer)
    groups = node_groups(nodes_answer)
    names = list(dict.fromkeys(group.partition for group in groups))
    return Site(
        name="slurm",
        engine="slurm",
        title=f"the Slurm cluster {config.get('ClusterName', '')}".rstrip(),
        queues=Queues(
            source="sinfo and scontrol on this machine",
            partitions=tuple(_partition([group for group in groups if group.partition == name]) for name in names),
        ),
        request=Request(mpi=config.get("MpiDefault")),
        kill_wait=_seconds(config.get("KillWait"), default=30),
        message_timeout=_seconds(config.get("MessageTimeout"), default=10),
    )


def _partition(groups: Sequence[NodeGroup]) -> Partition:
    usual = max(groups, key=lambda group: group.nodes)
    return Partition(
        name=usual.partition,
        default=usual.default,
        time_limit=usual.time_limit,
        nodes=sum(group.nodes for group in groups),
        cpus=max(group.cpus for group in groups),
        memory=max(group.memory for group in groups),
        memory_per_cpu=Size.of_mebibytes(usual.memory.mebibytes // max(1, usual.cpus)),
        gpus=tuple(_gpus(groups)),
    )


def _gpus(groups: Sequence[NodeGroup]) -> list[Gpu]:
    """One entry for each kind and number in a node; sinfo lists busy and idle nodes apart."""
    found: dict[tuple[str, int], Gpu] = {}
    for group in groups:
        for name, count in group.gpus.items():
            found.setdefault((name, count), _gpu(name, count, group))
    return list(found.values())


def _gpu(name: str, count: int, group: NodeGroup) -> Gpu:
    return Gpu(
        name=name,
        per_node=count,
        cpus_each=max(1, group.cpus // count),
        memory_each=Size.of_mebibytes(group.memory.mebibytes // count),
    )


def _seconds(text: str | None, default: int) -> Duration:
    digits = (text or "").split(" ")[0]
    return Duration(int(digits) if digits.isdigit() else default)


def local_site() -> Site:
    """This machine, pretending to be as many nodes as are asked for."""
    return Site(
        name="local",
        engine="local",
        title="this machine",
        queues=Queues(
            source="the operating system",
            partitions=(Partition(name="local", default=True, cpus=_cores(), memory=_memory(), gpus=_gpus_here()),),
        ),
        kill_wait=Duration(10),
    )


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _memory() -> Size:
    return Size(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))


def _gpus_here() -> tuple[Gpu, ...]:
    """NVIDIA's driver makes one device file a card, with or without its tools installed."""
    try:
        count = sum(name.startswith("nvidia") and name[6:].isdigit() for name in os.listdir("/dev"))
    except OSError:
        count = 0
    if not count:
        return ()
    return (
        Gpu(
            name="",
            per_node=count,
            cpus_each=max(1, _cores() // count),
            memory_each=Size.of_mebibytes(_memory().mebibytes // count),
        ),
    )
