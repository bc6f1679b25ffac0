"""The same work in another shape: a few honest alternatives, told by name, each what it would mean. Pure.

The names follow from the wish and the site alone, so that one that was shown can be submitted by its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct, field, to_builtins
from msgspec.structs import replace

from voyageur.errors import SpecError
from voyageur.plan.account import fair_share_text, fitting_accounts, spelled
from voyageur.plan.gpus import with_implied_gpu
from voyageur.plan.model import Surroundings
from voyageur.plan.obstacles import obstacles
from voyageur.plan.queue import choose_partition
from voyageur.site import Partition, Policy, Purpose, Site
from voyageur.spec import Resources, Spec
from voyageur.units import Duration, Size

AS_ASKED = "as-asked"
MOST = 5
_MOST_PIECES = 20
_USEFUL = Duration(3600)  # a piece shorter than that waits longer than it runs
_UNSAID = (Policy.FORBIDDEN, Policy.IGNORED)
_CHAINED = (
    "each piece waits in the queue of shorter jobs; the program must save before its time is up and go on from there, "
    "and each start costs time of its own"
)


class Alternative(Struct, frozen=True, kw_only=True):
    """`changes` are keys of the spec. Several `pieces` are a chain: one run after the other."""

    name: str
    what: str
    means: str = ""
    changes: dict[str, Any] = field(default_factory=dict)
    pieces: int = 1


def alternatives(spec: Spec, site: Site, around: Surroundings) -> list[Alternative]:
    """What was asked first. Whether each can be planned, the planner says."""
    wanted = with_implied_gpu(spec, site)
    chosen = _chosen(spec, wanted, site)
    others = list(_other_queues(spec, wanted, site, chosen))
    found = [
        Alternative(name=AS_ASKED, what=_amounts(wanted)),
        *_chain(wanted, site),
        *_smaller(spec, wanted, site),
        *others[:1],
        *_other_account(spec, site, around, chosen, wanted),
        *others[1:],
    ]
    return found[:MOST]


def with_changes(spec: Spec, alternative: Alternative) -> Spec:
    """The wish as somebody would have written it who wanted this shape."""
    source, changes = f"--shape {alternative.name}", alternative.changes
    inner = {key.removeprefix("resources."): value for key, value in changes.items() if key.startswith("resources.")}
    outer = {key: value for key, value in changes.items() if "." not in key}
    return replace(
        spec,
        resources=replace(spec.resources, **inner),
        sources=spec.sources | dict.fromkeys(changes, source),
        given=spec.given | {key: _as_written(value) for key, value in changes.items()},
        **outer,
    )


def _as_written(value: Any) -> Any:
    return str(value) if isinstance(value, Duration | Size) else to_builtins(value)


def _chosen(spec: Spec, wanted: Resources, site: Site) -> Partition | None:
    """None where nothing can run what was asked; another shape may still do."""
    try:
        return choose_partition(spec, wanted, site)[0]
    except SpecError:
        return None


# ── a chain of shorter ones ──────────────────────────────────────────────────────────────────────────────────────────


def _chain(wanted: Resources, site: Site) -> Iterator[Alternative]:
    """Where shorter jobs may use more of the nodes, or where nothing longer is allowed."""
    shorter = [edge for edge in _edges(wanted, site) if _USEFUL <= edge < wanted.time]
    if not shorter:
        return
    piece = max(shorter)
    pieces = -(-wanted.time.seconds // piece.seconds)
    if pieces <= _MOST_PIECES:
        yield Alternative(
            name=f"chain-{_hours(piece)}",
            what=f"{pieces} pieces one after the other, each {_amounts(wanted, piece)}",
            means=_CHAINED,
            changes={"resources.time": piece},
            pieces=pieces,
        )


def _edges(wanted: Resources, site: Site) -> set[Duration]:
    """The site's tiers, else the limits of queues that could run a piece."""
    limits = {
        partition.time_limit
        for partition in _for_production(site)
        if partition.time_limit and not obstacles(replace(wanted, time=partition.time_limit), partition, site)
    }
    return {*(site.times.tiers or limits), *([site.times.maximum] if site.times.maximum else [])}


def _for_production(site: Site) -> list[Partition]:
    return [one for one in site.partitions if one.purpose is Purpose.PRODUCTION and not one.restricted]


def _hours(time: Duration) -> str:
    return f"{time.seconds // 3600}h" if time.seconds % 3600 == 0 else str(time)


# ── fewer nodes or GPUs ──────────────────────────────────────────────────────────────────────────────────────────────


def _smaller(spec: Spec, wanted: Resources, site: Site) -> Iterator[Alternative]:
    """Half of them, for as much longer as that takes a program that scales."""
    if wanted.nodes > 1:
        nodes = wanted.nodes // 2
        yield _slower(wanted, f"nodes-{nodes}", {"nodes": nodes}, wanted.nodes / nodes)
    elif wanted.gpus > 1 and (gpus := _fewer_gpus(wanted, site)):
        changes = {"gpus": gpus, **_shares(spec, gpus, wanted.gpus)}
        yield _slower(wanted, f"gpus-{gpus}", changes, wanted.gpus / gpus)


def _slower(wanted: Resources, name: str, changes: dict[str, Any], factor: float) -> Alternative:
    longer = Duration(-(-int(wanted.time.seconds * factor) // 60) * 60)
    return Alternative(
        name=name,
        what=_amounts(replace(wanted, **changes), longer),
        means=f"it takes {_hours(longer)} if the program scales, which is assumed, not known; small jobs fit into gaps",
        changes={f"resources.{key}": value for key, value in {**changes, "time": longer}.items()},
    )


def _fewer_gpus(wanted: Resources, site: Site) -> int | None:
    """The largest number that some node gives, of those up to the half."""
    kinds = [gpu for partition in site.partitions for gpu in partition.gpus if gpu.is_called(wanted.gpu)]
    counts = [count for count in range(1, wanted.gpus // 2 + 1) if any(gpu.allows(count) for gpu in kinds)]
    return max(counts, default=None)


def _shares(spec: Spec, gpus: int, before: int) -> dict[str, Any]:
    """What was asked for beside the GPUs of a node goes down with them; what the site decides does so anyway."""
    resources, found = spec.resources, dict[str, Any]()
    if resources.cpus:
        found["cpus"] = max(1, resources.cpus * gpus // before)
    if resources.tasks:
        found["tasks"] = max(1, resources.tasks * gpus // before)
    if resources.memory:
        found["memory"] = Size(resources.memory.bytes * gpus // before)
    return found


# ── another queue, another account ───────────────────────────────────────────────────────────────────────────────────


def _other_queues(spec: Spec, wanted: Resources, site: Site, chosen: Partition | None) -> Iterator[Alternative]:
    """Those that can be asked for by a word of their own; where jobs are given up last, short limits first."""
    if chosen is None:
        return
    ordered = sorted(_for_production(site), key=lambda one: (one.preemptible, one.time_limit or Duration(10**9)))
    for partition in ordered:
        changes, usual = _words_for(partition, site), _words_for(chosen, site)
        new = next((key for key in ("partition", "qos") if changes.get(key) != usual.get(key)), None)
        wastes_gpus = bool(partition.gpus) > bool(wanted.gpus or chosen.gpus)
        if new and changes.get(new) and not wastes_gpus and not obstacles(wanted, partition, site):
            yield Alternative(
                name=_plain(f"{new}-{changes[new]}"),
                what=f"{_amounts(wanted)} in {partition.name}",
                means=_of_queue(partition, wanted, chosen),
                changes=changes,
            )


def _words_for(partition: Partition, site: Site) -> dict[str, Any]:
    words: dict[str, Any] = {}
    if site.request.partition not in _UNSAID:
        words["partition"] = partition.flag or partition.name
    if partition.qos and site.request.qos not in _UNSAID:
        words["qos"] = partition.qos
    if words and partition.constraint:
        words["constraint"] = partition.constraint
    return words


def _of_queue(partition: Partition, wanted: Resources, chosen: Partition) -> str:
    facts = [f"its limit is {_hours(partition.time_limit)}" if partition.time_limit else "its limit is not known"]
    models = [{gpu.name for gpu in one.gpus if gpu.name} for one in (partition, chosen)]
    if wanted.gpus and not wanted.gpu and models[0] != models[1]:
        facts.append(f"its GPUs are {', '.join(sorted(models[0])) or 'of another kind'}")
    if partition.preemptible:
        facts.append("jobs there are stopped whenever others want the nodes, so save often")
    if partition.charge != 1.0:
        facts.append(f"an hour is charged {partition.charge:g} times")
    return "; ".join(facts)


def _other_account(
    spec: Spec, site: Site, around: Surroundings, chosen: Partition | None, wanted: Resources
) -> Iterator[Alternative]:
    """The best fair share that would not be charged as it was asked."""
    if site.engine == "local" or site.request.account in _UNSAID:
        return
    ranked = sorted(
        fitting_accounts(around.accounts, site, chosen, wanted.gpus),
        key=lambda account: -1.0 if account.fair_share is None else account.fair_share,
        reverse=True,
    )
    names = [spelled(account.name, site) for account in ranked]
    charged = spec.account or (names[0] if names else None)
    for account, name in zip(ranked, names, strict=True):
        if name != charged:
            means = f"its fair share is {fair_share_text(account.fair_share)}: the higher, the sooner jobs start"
            what = f"{_amounts(wanted)}, charged to {name}"
            yield Alternative(name=_plain(f"account-{name}"), what=what, means=means, changes={"account": name})
            return


def _plain(name: str) -> str:
    return re.sub(r"[^\w.-]+", "-", name)


def _amounts(wanted: Resources, time: Duration | None = None) -> str:
    nodes = f"{wanted.nodes} node{'s' if wanted.nodes > 1 else ''}"
    gpus = f" with {wanted.gpus} {f'{wanted.gpu} ' if wanted.gpu else ''}GPU{'s' if wanted.gpus > 1 else ''}"
    each = " each" if wanted.nodes > 1 and wanted.gpus else ""
    return f"{nodes}{gpus if wanted.gpus else ''}{each} for {_hours(time or wanted.time)}"
