"""Why a partition can never run what is wanted. A limit that is not known is no obstacle."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from voyageur.errors import SiteError
from voyageur.site import Gpu, Partition, Policy, Site
from voyageur.spec import Resources
from voyageur.units import Duration, Size


class Obstacle(NamedTuple):
    """How much of the wish the partition can give: 0 is nothing, almost 1 is nearly all."""

    error: SiteError
    reach: float


def obstacles(wanted: Resources, partition: Partition, site: Site) -> list[Obstacle]:
    return [found for found in _looked_for(wanted, partition, site, _where(partition, site)) if found]


def _where(partition: Partition, site: Site) -> str:
    """Where nobody names partitions, those of a profile are groups of nodes or queues that go by other words."""
    if site.engine == "local":
        return "this machine"
    unsaid = site.request.partition in (Policy.FORBIDDEN, Policy.IGNORED)
    return f"`{partition.name}` of {site.name}" if unsaid else f"partition `{partition.name}` of {site.name}"


def closest(found: list[list[Obstacle]]) -> SiteError:
    """Of several partitions that cannot run it, the message is about the one that comes nearest."""
    return min(found, key=lambda those: (len(those), -min(one.reach for one in those)))[0].error


def _looked_for(wanted: Resources, partition: Partition, site: Site, where: str) -> Iterator[Obstacle | None]:
    yield _gpus(wanted, partition, where)
    if site.engine == "local":
        return
    memory = wanted.memory or Size((wanted.memory_per_gpu or Size(0)).bytes * wanted.gpus)
    yield _too_long(wanted.time, partition.time_limit or site.times.maximum, where)
    yield _too_short(wanted.time, partition.time_minimum or site.times.minimum, where)
    yield _too_many(wanted.nodes, partition.nodes, where, "nodes", "nodes")
    yield _too_much_node_time(wanted, partition.node_time, where)
    yield _too_many_for_a_job(wanted.nodes, partition, where)
    yield _too_few_nodes(wanted.nodes, partition.nodes_least, where)
    yield _too_many(wanted.cpus or 0, partition.cpus, where, "CPUs a node", "cpus")
    yield _too_many(wanted.tasks or 0, partition.cpus, where, "cores a node for as many tasks", "tasks")
    yield _too_large(memory, partition.memory, where, "memory", "memory")
    if partition.job_caps and wanted.nodes > 1:
        yield _too_many_for_all(wanted.nodes * (wanted.cpus or 0), partition.cpus, where, "CPUs")
        kinds = [gpu for gpu in partition.gpus if gpu.is_called(wanted.gpu)]
        most = max((min(gpu.per_node, gpu.per_job or gpu.per_node) for gpu in kinds), default=0)
        yield _too_many_for_all(wanted.nodes * wanted.gpus, most, where, "GPUs")
    yield _too_large(wanted.disk or Size(0), partition.local_disk or site.local_disk.size, where, "disk", "disk")


def _too_many(value: int, limit: int, where: str, what: str, flag: str) -> Obstacle | None:
    if not limit or value <= limit:
        return None
    hint = f"ask for at most `--{flag} {limit}`"
    return Obstacle(SiteError(f"{where} has no {value} {what}", facts=[f"it has {limit}"], hint=hint), limit / value)


def _too_many_for_a_job(nodes: int, partition: Partition, where: str) -> Obstacle | None:
    limit = partition.nodes_per_job
    if limit is None or nodes <= limit:
        return None
    hint = f"ask for at most `--nodes {limit}`"
    return Obstacle(
        SiteError(f"{where} gives no job {nodes} nodes", facts=[f"{limit} is the most"], hint=hint), limit / nodes
    )


def _too_many_for_all(value: int, limit: int, where: str, what: str) -> Obstacle | None:
    if not limit or value <= limit:
        return None
    error = SiteError(
        f"{where} gives no job {value} {what} on all its nodes together",
        facts=[f"{limit} is the most"],
        hint="ask for fewer, or for another partition",
    )
    return Obstacle(error, limit / value)


def _too_much_node_time(wanted: Resources, limit: Duration | None, where: str) -> Obstacle | None:
    if limit is None or wanted.nodes * wanted.time.seconds <= limit.seconds:
        return None
    most = Duration(limit.seconds // wanted.nodes)
    error = SiteError(
        f"{wanted.nodes} nodes for {wanted.time} are more than {where} allows",
        facts=[f"its limit is {limit} for nodes times time"],
        hint=f"ask for at most `--time {most}`",
    )
    return Obstacle(error, limit.seconds / (wanted.nodes * wanted.time.seconds))


def _too_few_nodes(nodes: int, least: int | None, where: str) -> Obstacle | None:
    if least is None or nodes >= least:
        return None
    hint = f"ask for at least `--nodes {least}`, or leave the partition and the QOS out"
    return Obstacle(SiteError(f"{where} is for jobs of {least} nodes or more", hint=hint), nodes / least)


def _too_large(value: Size, limit: Size | None, where: str, what: str, flag: str) -> Obstacle | None:
    if not limit or not limit.bytes or value <= limit:
        return None
    hint = f"ask for at most `--{flag} {limit}`"
    text = f"{where} has no {value} of {what} a node"
    return Obstacle(SiteError(text, facts=[f"it has {limit}"], hint=hint), limit.bytes / value.bytes)


def _too_long(time: Duration, limit: Duration | None, where: str) -> Obstacle | None:
    if limit is None or time <= limit:
        return None
    hint = f"ask for at most `--time {limit}`, or have it cut into pieces that go on from checkpoints: `--chain auto`"
    what = f"{time} is longer than {where} allows"
    return Obstacle(SiteError(what, facts=[f"its limit is {limit}"], hint=hint), limit.seconds / time.seconds)


def _too_short(time: Duration, least: Duration | None, where: str) -> Obstacle | None:
    if least is None or time >= least:
        return None
    hint = f"ask for `--time {least}` or more"
    what = f"{time} is shorter than {where} takes"
    return Obstacle(SiteError(what, facts=[f"the least is {least}"], hint=hint), time.seconds / least.seconds)


# ── GPUs ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _gpus(wanted: Resources, partition: Partition, where: str) -> Obstacle | None:
    if not wanted.gpus:
        return None
    kinds = [gpu for gpu in partition.gpus if gpu.is_called(wanted.gpu)]
    if not kinds:
        kind = f" called `{wanted.gpu}`" if wanted.gpu else ""
        return Obstacle(SiteError(f"{where} has no GPUs{kind}", hint="run it without: `--gpus 0`"), 0.0)
    fitting = [gpu for gpu in kinds if gpu.allows(wanted.gpus, wanted.nodes)]
    if not fitting:
        return _no_such_number(wanted, kinds, where)
    return _too_many_slices(wanted, fitting, where)


def _no_such_number(wanted: Resources, kinds: list[Gpu], where: str) -> Obstacle:
    count = wanted.gpus
    if all(gpu.slice and gpu.per_job == 1 for gpu in kinds):
        return _one_slice(count, kinds[0])
    most = max(gpu.per_node for gpu in kinds)
    if count > most:
        hint = f"ask for `--gpus {most}` and more nodes: GPUs are counted per node"
        what = f"{where} has no {count} GPUs in one node"
        return Obstacle(SiteError(what, facts=[f"a node has {most}"], hint=hint), most / count)
    counts = sorted({allowed for gpu in kinds for allowed in gpu.counts_on(wanted.nodes)})
    nearest = min(counts, key=lambda allowed: (abs(allowed - count), allowed))
    what = f"{where} gives no job {count} GPU{'s' if count > 1 else ''} of a node"
    facts = [f"it gives {' or '.join(map(str, counts))}"]
    return Obstacle(SiteError(what, facts=facts, hint=f"ask for `--gpus {nearest}`"), 0.9)


def _one_slice(count: int, gpu: Gpu) -> Obstacle:
    what = f"a job gets 1 `{gpu.name}` at most, not {count}"
    hint = "ask for `--gpus 1`, or for a larger slice or whole GPUs with `--gpu-type`"
    return Obstacle(SiteError(what, facts=["it is a slice of a GPU"], hint=hint), 1 / count)


def _too_many_slices(wanted: Resources, fitting: list[Gpu], where: str) -> Obstacle | None:
    total = wanted.gpus * wanted.nodes
    limits = [gpu.per_job for gpu in fitting]
    if any(limit is None or total <= limit for limit in limits):
        return None
    most = max(limit or 0 for limit in limits)
    what = f"a job gets {most} `{fitting[0].name}` at most, not {total}"
    return Obstacle(
        SiteError(what, facts=[where], hint="ask for whole GPUs, or for one slice on one node"), most / total
    )
