"""What a job costs if it runs for all of its time: in the site's own unit, by the site's own formula.

Where a fact is missing there is no number, only the plain hours of nodes, cores and GPUs that anybody can count.
"""

from __future__ import annotations

import math

from msgspec import Struct

from voyageur.plan.model import Cost, Hours, Shape
from voyageur.site import Gpu, Partition, Site, Unit
from voyageur.units import Duration, Size


class _Job(Struct, frozen=True, kw_only=True):
    """What is paid for on one node."""

    site: Site
    partition: Partition
    gpu: Gpu | None
    gpus: int
    cores: int
    memory: Size | None

    def counts(self, what: str) -> bool:
        return what in self.site.accounting.by

    @property
    def whole(self) -> bool:
        return self.partition.whole_node or self.site.accounting.by == ("nodes",)


class _Share(Struct, frozen=True, kw_only=True):
    """One way to weigh a job; None where the site weighs it, but with what is not known."""

    amount: float | None
    because: str


def decide_cost(shape: Shape, site: Site, place: str | None = None, repeats: int = 1) -> Cost | None:
    """`place` is the partition, `repeats` the attempts of a chain or the tasks of an array. None: nobody counts."""
    if site.engine == "local":
        return None
    job = _job(shape, site, place)
    unit = _unit(job)
    shares = _shares(job, unit)
    known = [share for share in shares if share.amount is not None]
    largest = max(known, key=lambda share: share.amount or 0.0, default=None)
    plain = _plain_hours(shape, job, repeats)
    if largest is None:
        return Cost(amount=None, unit=unit, because=f"{_why_unknown(job, unit)}; {_said(plain)}", hours=plain)
    missing = [share.because for share in shares if share.amount is None]
    return Cost(
        amount=_total(shape, job, largest.amount or 0.0, repeats),
        unit=unit,
        because=_reason(shape, job, largest, missing, repeats),
        at_least=bool(missing),
        hours=plain,
    )


def _job(shape: Shape, site: Site, place: str | None) -> _Job:
    partition = _partition(shape, site, place)
    gpus, gpu = shape.gpus.value, None
    if gpus:
        gpu = partition.gpu(shape.gpu.value, gpus)
    elif partition.whole_node and partition.gpus:
        gpu = partition.gpus[0]
    if gpu and partition.whole_node:  # they all come with the node, and are paid, whoever asks for them
        gpus = max(gpus, gpu.per_node)
    cores = shape.cpus_per_task.value * shape.tasks_per_node.value
    return _Job(site=site, partition=partition, gpu=gpu, gpus=gpus, cores=cores, memory=shape.memory.value)


def _partition(shape: Shape, site: Site, place: str | None) -> Partition:
    named = [partition for partition in site.partitions if place in (partition.name, partition.flag)]
    gpus = shape.gpus.value
    fitting = [one for one in site.partitions if (one.gpu(shape.gpu.value, gpus) if gpus else not one.gpus)]
    return next(iter([*named, *fitting, *site.partitions]), Partition(name=""))


def _unit(job: _Job) -> Unit:
    accounting = job.site.accounting
    return accounting.unit if job.gpus else accounting.cpu_unit or accounting.unit


# ── one node, one hour ───────────────────────────────────────────────────────────────────────────────────────────────


def _shares(job: _Job, unit: Unit) -> list[_Share]:
    """In units an hour, before the site's rate and the partition's charge."""
    if unit is Unit.UNKNOWN:
        return []
    if job.whole:
        return [_whole_node(job, unit)]
    if unit is Unit.NODE_HOURS:
        return _of_a_node(job)
    if unit is Unit.CORE_HOURS:
        return _cores(job, _gpus_as_cores(job))
    if job.gpus:
        return _bundles(job, unit)
    return _cores(job, []) if unit is Unit.SERVICE_UNITS else []


def _whole_node(job: _Job, unit: Unit) -> _Share:
    if unit in (Unit.NODE_HOURS, Unit.SERVICE_UNITS):
        return _Share(amount=1.0, because="the whole node")
    if unit is Unit.CORE_HOURS:
        cores = job.partition.cpus
        return _Share(amount=cores or None, because=f"the whole node, which has {cores} cores")
    weight = _weight(job, unit)
    count = job.gpu.per_node if job.gpu else 0
    known = weight if count else None
    return _Share(
        amount=known * count if known else None,
        because=f"the whole node, with {_plural(count, 'GPU')}{_each(known or 1.0, count)}",
    )


def _of_a_node(job: _Job) -> list[_Share]:
    partition, found = job.partition, []
    if job.counts("gpus") and job.gpu and job.gpu.per_node:
        count = job.gpu.per_node
        found.append(_Share(amount=job.gpus / count, because=f"{job.gpus} of a node's {count} GPUs"))
    if job.counts("cores") and partition.cpus:
        because = f"{job.cores} of a node's {partition.cpus} cores"
        found.append(_Share(amount=job.cores / partition.cpus, because=because))
    if job.counts("memory") and job.memory and partition.memory.bytes:
        because = f"{job.memory} of a node's {partition.memory} of memory"
        found.append(_Share(amount=job.memory.bytes / partition.memory.bytes, because=because))
    return found


def _cores(job: _Job, more: list[_Share]) -> list[_Share]:
    """Memory above a core's own share costs as the cores that it belongs to."""
    found = [*more]
    if job.counts("cores"):
        found.append(_Share(amount=float(job.cores), because=_plural(job.cores, "core")))
    each = job.site.accounting.core_memory
    if job.counts("memory") and (job.memory is None or each is None):
        found.append(_Share(amount=None, because="memory"))
    elif job.counts("memory") and job.memory and each:
        count = _slices(job, job.memory.bytes / each.bytes)
        because = f"{job.memory} of memory, the share of {_plural(count, 'core')}"
        found.append(_Share(amount=count, because=because))
    return found


def _gpus_as_cores(job: _Job) -> list[_Share]:
    if not (job.counts("gpus") and job.gpus):
        return []
    each = (job.gpu.weight or float(job.gpu.cpus_each)) if job.gpu else 0.0
    because = f"{_plural(job.gpus, 'GPU')} counted as {_short(each)} cores{' each' if job.gpus > 1 else ''}"
    return [_Share(amount=job.gpus * each if each else None, because=because if each else "GPUs")]


def _bundles(job: _Job, unit: Unit) -> list[_Share]:
    """With a GPU comes a slice of its node; who takes more of the node pays for as many GPUs as belong to that."""
    weight, gpu = _weight(job, unit), job.gpu
    if weight is None or gpu is None:
        return []
    found = []
    if job.counts("gpus"):
        because = f"{_plural(job.gpus, 'GPU')}{_each(weight, job.gpus)}"
        found.append(_Share(amount=job.gpus * weight, because=because))
    if job.counts("cores"):
        cores = gpu.bill_cpus or gpu.cpus_each
        found.append(_slice(job, job.cores / cores if cores else None, _plural(job.cores, "core"), "cores", weight))
    if job.counts("memory"):
        memory = gpu.bill_memory if gpu.bill_memory.bytes else gpu.memory_each
        known = job.memory.bytes / memory.bytes if job.memory and memory.bytes else None
        found.append(_slice(job, known, f"{job.memory} of memory", "memory", weight))
    return found


def _slice(job: _Job, exact: float | None, taken: str, what: str, weight: float) -> _Share:
    if exact is None:
        return _Share(amount=None, because=what)
    count = _slices(job, exact)
    return _Share(amount=count * weight, because=f"{taken}, the share of {_plural(count, 'GPU')}{_each(weight, count)}")


def _slices(job: _Job, exact: float) -> float:
    return float(math.ceil(exact)) if job.site.accounting.whole_slices else exact


def _weight(job: _Job, unit: Unit) -> float | None:
    """An RGU is nothing but a weight, so there it must be known."""
    if job.gpu and job.gpu.weight is not None:
        return job.gpu.weight
    return None if unit is Unit.RGU_HOURS else 1.0


# ── all nodes, all hours ─────────────────────────────────────────────────────────────────────────────────────────────


def _total(shape: Shape, job: _Job, an_hour: float, repeats: int) -> float:
    accounting = job.site.accounting
    seconds = max(shape.time.value.seconds, (accounting.minimum or Duration(0)).seconds)
    one = an_hour * accounting.rate * job.partition.charge * shape.nodes.value * seconds / 3600
    return max(one, accounting.least or 0.0) * repeats


def _plain_hours(shape: Shape, job: _Job, repeats: int) -> Hours:
    nodes = shape.nodes.value * shape.time.value.seconds / 3600 * repeats
    cores = job.partition.cpus if job.whole and job.partition.cpus else job.cores
    return Hours(nodes=nodes, cores=nodes * cores, gpus=nodes * job.gpus)


# ── in words ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _reason(shape: Shape, job: _Job, share: _Share, missing: list[str], repeats: int) -> str:
    accounting, nodes = job.site.accounting, shape.nodes.value
    parts = [f"if it takes all of its {shape.time.value}: {share.because}"]
    if nodes > 1:
        parts.append(f"on each of {nodes} nodes")
    factor = accounting.rate * job.partition.charge
    if factor != 1.0:
        where = f" in {job.partition.name}" if job.partition.charge != 1.0 else f" on {job.site.name}"
        parts.append(f"times {_short(factor)}{where}")
    if accounting.minimum and shape.time.value < accounting.minimum:
        parts.append(f"and no less than {accounting.minimum} is charged")
    if repeats > 1:
        parts.append(f"{repeats} times")
    if missing:
        parts.append(f"and {' and '.join(missing)} may cost more: how much is not known")
    return ", ".join(parts)


def _why_unknown(job: _Job, unit: Unit) -> str:
    name = job.site.name
    if unit is Unit.UNKNOWN or not job.site.accounting.by:
        return f"how {name} counts is not known"
    if job.gpus and not job.whole:
        return f"what this GPU counts for on {name} is not known"
    return f"how {name} counts a job like this is not known"


def _said(hours: Hours) -> str:
    counts = {"node-hour": hours.nodes, "core-hour": hours.cores, "GPU-hour": hours.gpus}
    return "it takes " + ", ".join(_plural(count, name) for name, count in counts.items() if count)


def _each(weight: float, count: float) -> str:
    if weight == 1.0:
        return ""
    return f" at {_short(weight)}{'' if count == 1 else ' each'}"


def _plural(count: float, noun: str) -> str:
    return f"{_short(count)} {noun}{'' if count == 1 else 's'}"


def _short(number: float) -> str:
    """Three digits behind the point are more than any of these facts is worth."""
    return f"{number:,.3f}".rstrip("0").rstrip(".")
