"""A profile against what its cluster says, fact by fact. Only what matters to a job is a difference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from voyageur.site.facts import Medium, Policy, Reach
from voyageur.site.model import Site
from voyageur.site.queues import Gpu, Partition
from voyageur.site.seen import Seen, gpus_of
from voyageur.slurm_text.survey import NodeKind
from voyageur.units import Size

_UNSAID = (Policy.FORBIDDEN, Policy.IGNORED)
_DRAINED = 0.1  # the part of its nodes that a cluster may lack on any day
_NOMINAL = 0.03  # a profile that says a little less memory says what jobs may use of it


class Difference(Struct, frozen=True, kw_only=True):
    """`path`: the keys to it in a profile. What is not `taken` is only shown, for the reason `because`."""

    path: tuple[str, ...]
    profile: Any
    cluster: Any
    taken: bool = True
    because: str = ""


def differences(profile: Site, seen: Seen) -> list[Difference]:
    return [*_plain(profile, seen), *_scratch(profile, seen), *_on_a_node(profile, seen), *_queues(profile, seen)]


def _plain(profile: Site, seen: Seen) -> Iterator[Difference]:
    facts = [
        (("kill_wait",), profile.kill_wait, seen.kill_wait),
        (("message_timeout",), profile.message_timeout, seen.message_timeout),
        (("limits", "array"), profile.limits.array, seen.array),
        (("software", "system"), profile.software.system, seen.system),
    ]
    for path, says, sees in facts:
        if sees is not None and says != sees:
            yield Difference(path=path, profile=says, cluster=sees)
    names = profile.fingerprint.cluster
    if seen.cluster and seen.cluster not in names:
        yield Difference(path=("fingerprint", "cluster"), profile=names, cluster=(*names, seen.cluster))
    if "." in seen.domain and not (profile.fingerprint.domains or profile.fingerprint.hosts):
        yield Difference(path=("fingerprint", "domains"), profile=(), cluster=(seen.domain,))
    for module in seen.missing_modules:
        yield Difference(
            path=("software", "modules"),
            profile=module,
            cluster="not there",
            taken=False,
            because="name others in [env]",
        )


def _scratch(profile: Site, seen: Seen) -> Iterator[Difference]:
    says = profile.storage.scratch
    if seen.scratch is not None and seen.scratch != says:
        yield Difference(
            path=("storage", "scratch"),
            profile=says,
            cluster=seen.scratch or "not set in this shell",
            taken=bool(seen.scratch),
            because="" if seen.scratch else "set it, or use `--scratch`",
        )


def _on_a_node(profile: Site, seen: Seen) -> Iterator[Difference]:
    """What a job saw. Programs that come with modules it did not see, so only blanks are filled in."""
    if (node := seen.node) is None:
        return
    disk, software = profile.local_disk, profile.software
    facts: list[tuple[tuple[str, ...], Any, Any]] = [
        (("local_disk", "variable"), disk.variable, node.variable),
        (("local_disk", "path"), disk.path, None if node.variable else node.path),
        (("local_disk", "medium"), disk.medium, None if node.medium is Medium.UNKNOWN else node.medium),
        (("network", "internet"), profile.network.internet, _reach(profile, node.internet)),
        (("software", "pythons"), software.pythons, None if software.pythons else node.pythons or None),
        (("software", "containers"), software.containers, None if software.containers else node.containers or None),
    ]
    for path, says, sees in facts:
        if sees is not None and says != sees:
            yield Difference(path=path, profile=says, cluster=sees)
    if node.size and disk.size is None:
        yield Difference(path=("local_disk", "size"), profile=None, cluster=node.size)


def _reach(profile: Site, sees: Reach) -> Reach | None:
    """A node behind a proxy reaches nothing without its module."""
    if sees is Reach.UNKNOWN or (sees is Reach.NONE and profile.network.internet is Reach.PROXY):
        return None
    return sees


# ── queues ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _queues(profile: Site, seen: Seen) -> Iterator[Difference]:
    if not seen.partitions:
        return
    if profile.request.partition in _UNSAID and profile.partitions:
        yield from _by_content(profile, seen)
    else:
        yield from _by_name(profile, seen)
    yield from _by_qos(profile, seen)


def _by_name(profile: Site, seen: Seen) -> Iterator[Difference]:
    """Several of a profile may be one partition of Slurm's, told apart by QOS or node features."""
    there = {partition.name: partition for partition in seen.partitions}
    for partition in profile.partitions:
        flag = partition.flag or partition.name
        if flag in there:
            yield from _partition(partition, there[flag])
        else:
            yield Difference(path=_path(partition.name), profile=flag, cluster=False, because="Slurm has no such one")
    known = {partition.flag or partition.name for partition in profile.partitions}
    for name, partition in there.items():
        if name not in known:
            is_open = name not in seen.closed
            because = "" if is_open else "it is not open to everybody"
            yield Difference(path=_path(name), profile=None, cluster=partition, taken=is_open, because=because)


def _partition(says: Partition, sees: Partition) -> Iterator[Difference]:
    if not says.qos:
        yield from _fact(says, "time_limit", says.time_limit, sees.time_limit)
        yield from _fact(says, "nodes_per_job", says.nodes_per_job, sees.nodes_per_job)
    if sees.preemptible and not says.preemptible:
        yield from _fact(says, "preemptible", says.preemptible, sees.preemptible)
        yield from _fact(says, "grace", says.grace, sees.grace)
    if sees.whole_node and not says.whole_node:
        yield from _fact(says, "whole_node", says.whole_node, sees.whole_node)
    if not says.constraint:
        yield from _nodes(says, sees.nodes, sees.cpus, sees.memory)
        yield from _gpus(says, sees.gpus)


def _by_content(profile: Site, seen: Seen) -> Iterator[Difference]:
    """Where a router chooses the queue a profile's partitions are kinds of nodes, called as people call them."""
    met: list[NodeKind] = []
    for says in profile.partitions:
        alike = _alike(says, profile.partitions, seen.kinds)
        met += alike
        if alike:
            largest = max(alike, key=lambda kind: (kind.memory, kind.cpus))
            yield from _nodes(says, sum(kind.nodes for kind in alike), largest.cpus, largest.memory)
            yield from _gpus(says, gpus_of(alike))
        else:
            yield Difference(
                path=_path(says.name), profile=_described(says), cluster="no nodes like that", taken=False,
                because="they may be out of service",
            )  # fmt: skip
    known = {name for says in profile.partitions for gpu in says.gpus for name in (gpu.name, *gpu.also)}
    for kind in seen.kinds:
        if kind not in met and (new := sorted(set(kind.gpus) - known)):
            yield Difference(
                path=_path(f"{' '.join(new)} nodes".strip()), profile=None, cluster=_as_partition(kind, new, profile)
            )


def _alike(says: Partition, all_said: Sequence[Partition], kinds: Sequence[NodeKind]) -> list[NodeKind]:
    """By their GPUs; without any by cores, and of several partitions that of the nearest memory has the nodes."""
    if says.gpus:
        return [kind for kind in kinds if any(gpu.is_called(name) for gpu in says.gpus for name in kind.gpus)]
    plain = [partition for partition in all_said if not partition.gpus]
    return [kind for kind in kinds if not kind.gpus and _nearest(kind, plain) is says]


def _nearest(kind: NodeKind, plain: Sequence[Partition]) -> Partition | None:
    """CPUs may count twice: as cores, and as threads."""
    fitting = [partition for partition in plain if partition.cpus and kind.cpus in (partition.cpus, 2 * partition.cpus)]
    return min(fitting, key=lambda one: _apart(one.memory.bytes, kind.memory.bytes), default=None)


def _apart(one: int, two: int) -> float:
    """How many times the larger is the smaller."""
    return max(one, two) / max(1, min(one, two))


def _as_partition(kind: NodeKind, new: Sequence[str], profile: Site) -> Partition:
    longest = max((one.time_limit for one in profile.partitions if one.time_limit), default=None)
    return Partition(
        name=f"{' '.join(new)} nodes".strip(), time_limit=longest, nodes=kind.nodes, cpus=kind.cpus, memory=kind.memory,
        gpus=tuple(gpu for gpu in gpus_of([kind]) if gpu.name in new),
    )  # fmt: skip


def _described(says: Partition) -> str:
    gpus = ", ".join(gpu.name for gpu in says.gpus if not gpu.slice)
    return f"{gpus} GPUs" if gpus else f"{says.cpus} cores and {says.memory}"


def _by_qos(profile: Site, seen: Seen) -> Iterator[Difference]:
    rows = {row.name: row for row in seen.qos}
    for says in profile.partitions:
        if says.qos and (row := rows.get(says.qos)):
            yield from _fact(says, "time_limit", says.time_limit, row.time_limit)
            yield from _fact(says, "running", says.running, row.running)
            yield from _fact(says, "submitted", says.submitted, row.submitted)


# ── facts of nodes ───────────────────────────────────────────────────────────────────────────────────────────────────


def _nodes(says: Partition, nodes: int, cpus: int, memory: Size) -> Iterator[Difference]:
    """A profile that promises too much is wrong; one that says less may know what the site keeps for itself."""
    if abs(nodes - says.nodes) > _DRAINED * max(says.nodes, 1):
        yield from _fact(says, "nodes", says.nodes or None, nodes)
    if cpus != says.cpus and cpus != 2 * says.cpus:
        yield from _amount(says, "cpus", says.cpus, cpus)
    if memory < says.memory or memory.bytes > says.memory.bytes * (1 + _NOMINAL):
        yield from _amount(says, "memory", says.memory if says.memory.bytes else None, memory)


def _amount(says: Partition, key: str, profile: Any, cluster: Any) -> Iterator[Difference]:
    less = bool(profile) and profile < cluster
    because = "the profile says less: a site may keep some for itself" if less else ""
    yield Difference(
        path=_path(says.name, key), profile=profile or None, cluster=cluster, taken=not less, because=because
    )


def _gpus(says: Partition, sees: Sequence[Gpu]) -> Iterator[Difference]:
    there = {gpu.name: gpu for gpu in sees}
    for gpu in says.gpus:
        found = next((there[name] for name in (gpu.name, *gpu.also) if name in there), None)
        if found is None and there.keys() != {""}:
            yield Difference(
                path=_path(says.name, "gpus", gpu.name), profile=gpu.name, cluster=False, because="no node has it"
            )
        elif found and not gpu.slice and found.per_node != gpu.per_node:
            path = _path(says.name, "gpus", gpu.name, "per_node")
            yield Difference(path=path, profile=gpu.per_node, cluster=found.per_node)
    known = {name for gpu in says.gpus for name in (gpu.name, *gpu.also)}
    for name, gpu in there.items():
        if name not in known and (name or not says.gpus):
            yield Difference(path=_path(says.name, "gpus", name), profile=None, cluster=gpu)


def _fact(says: Partition, key: str, profile: Any, cluster: Any) -> Iterator[Difference]:
    if cluster is not None and profile != cluster:
        yield Difference(path=_path(says.name, key), profile=profile, cluster=cluster)


def _path(partition: str, *keys: str) -> tuple[str, ...]:
    return ("queues", "partitions", partition, *keys)
