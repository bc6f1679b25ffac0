"""The queues of a site and the GPUs in them, as grids."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from voyageur.show.rows import NOT_KNOWN, Entry, Grid, Row, either, listed
from voyageur.show.site_rows import REACH, VENDORS, gives_whole_nodes
from voyageur.site import Gpu, Partition, Purpose, Site
from voyageur.units import Duration


def queues(site: Site) -> Iterator[Row | Grid]:
    if not site.partitions:
        yield Row("queues", NOT_KNOWN)
        return
    head = ("NAME", "TIME", "NODES", "JOBS", "CPUS", "MEMORY", "DISK", "GPUS", "COST")
    yield Grid(head, tuple(_queue(partition, site) for partition in site.partitions), _legend(site.partitions))
    if kinds := _kinds(site.partitions):
        yield Row("", "")
        yield Grid(("GPU", "HAS", "WITH EACH", "ASK FOR", "COSTS"), kinds)


def _queue(partition: Partition, site: Site) -> Entry:
    gpus = _gpus(partition)
    cells = (
        partition.name,
        _within(partition.time_minimum, partition.time_limit) or "?",
        _nodes(partition),
        _jobs(partition),
        str(partition.cpus or ""),
        _memory(partition),
        str(partition.local_disk or ""),
        gpus[0] if len(gpus) == 1 else f"{len(gpus)} kinds" if gpus else "",
        _cost(partition),
    )
    return Entry(cells, listed(_more(partition, site), "; "))


def _legend(partitions: Iterable[Partition]) -> tuple[str, ...]:
    kinds = list(partitions)
    unsure = any(_memory(partition).startswith("<") for partition in kinds)
    counted = any(_jobs(partition) for partition in kinds)
    return (
        *(["JOBS: running/submitted, for each user"] if counted else []),
        *(["<: what is built in; jobs get less, and nobody says how much less"] if unsure else []),
    )


def _within(least: Duration | int | None, most: Duration | int | None) -> str:
    if least and most:
        return f"{least}-{most}"
    return str(most) if most else f"from {least}" if least else ""


def _nodes(partition: Partition) -> str:
    """What one job may have, of how many."""
    job, there = _within(partition.nodes_least, partition.nodes_per_job), partition.nodes
    return listed([job, f"of {there}" if there and there != partition.nodes_per_job else ""], " ")


def _jobs(partition: Partition) -> str:
    if not partition.running and not partition.submitted:
        return ""
    return f"{partition.running or '-'}/{partition.submitted or '-'}"


def _gpus(partition: Partition) -> list[str]:
    return [f"{gpu.per_node or ''} {gpu.name}".strip() or "any" for gpu in partition.gpus if not gpu.slice]


def _memory(partition: Partition) -> str:
    if partition.memory.bytes:
        return str(partition.memory)
    return f"<{partition.installed}" if partition.installed.bytes else ""


def _cost(partition: Partition) -> str:
    if partition.charge == 1:
        return ""
    return f"x{partition.charge:g}" if partition.charge else "free"


_PURPOSES = {
    Purpose.DEBUG: "for debugging",
    Purpose.INTERACTIVE: "for interactive work",
    Purpose.TRANSFER: "for moving files",
    Purpose.SERIAL: "for serial work",
}


def _more(partition: Partition, site: Site) -> tuple[str, ...]:
    flags = [
        f"--partition={partition.flag}" if partition.flag and partition.flag != partition.name else "",
        f"--qos={partition.qos}" if partition.qos else "",
        f"--constraint={partition.constraint}" if partition.constraint else "",
    ]
    return (
        listed(flags, " "),
        "named by naming none" if not partition.named and len(site.partitions) > 1 else "",
        "taken first" if partition.default and len(site.partitions) > 1 else "",
        _PURPOSES.get(partition.purpose, ""),
        "only for those let in" if partition.restricted else "",
        "whole nodes" if partition.whole_node and not gives_whole_nodes(site) else "",
        listed(_gpus(partition)) if len(_gpus(partition)) > 1 else "",
        "CPUs, memory and GPUs are for all of a job's nodes together" if partition.job_caps else "",
        "may be stopped for others" if partition.preemptible else "",
        f"{partition.grace} to end in" if partition.grace else "",
        f"{partition.nodes_unallocated} nodes without an allocation" if partition.nodes_unallocated else "",
        f"nodes times hours: {partition.node_time} at most" if partition.node_time else "",
        f"internet: {REACH[partition.internet]}" if partition.internet else "",
        partition.note,
    )


def _kinds(partitions: Iterable[Partition]) -> tuple[Entry, ...]:
    """Each kind once, from the first queue that has it; the same name with another share is another line."""
    found: dict[tuple[str, ...], Entry] = {}
    for partition in partitions:
        for gpu in partition.gpus:
            found.setdefault(_kind(gpu, partition), Entry(_kind(gpu, partition), _of_kind(gpu, partition)))
    return tuple(found.values())


def _kind(gpu: Gpu, partition: Partition) -> tuple[str, ...]:
    counts = either(gpu.counts) or (f"1 to {gpu.per_node}" if gpu.per_node > 1 else str(gpu.per_node or ""))
    several = f", {either(gpu.counts_multinode)} on several nodes" if gpu.counts_multinode else ""
    return (
        gpu.name or "any",
        str(gpu.own_memory or ""),
        listed([_cpus(partition.cpus_with(gpu)), gpu.memory_each if gpu.memory_each.bytes else ""]),
        counts + several,
        f"{gpu.weight:g}" if gpu.weight is not None else "",
    )


def _of_kind(gpu: Gpu, partition: Partition) -> str:
    guessed = partition.cpus_with(gpu) and not gpu.cpus_each
    share = "its share of a node; nobody says what comes with it" if guessed else ""
    vendor = f"of {VENDORS.get(gpu.vendor, gpu.vendor)}" if gpu.vendor else ""
    slices = [_cpus(gpu.bill_cpus), gpu.bill_memory if gpu.bill_memory.bytes else ""]
    billed = f"paid for each {either(filter(None, slices))}" if any(slices) else ""
    names = f"also called {listed(gpu.also)}" if gpu.also else ""
    return listed([vendor, share, billed, names, gpu.note], "; ")


def _cpus(count: int) -> str:
    return f"{count} CPU{'' if count == 1 else 's'}" if count else ""
