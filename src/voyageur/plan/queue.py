"""Which partition, and with it which QOS and which node features: the user's word, else the first that can run it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from voyageur.errors import SiteError
from voyageur.plan.model import Choice, Queue
from voyageur.plan.obstacles import closest, obstacles
from voyageur.plan.reasons import asked
from voyageur.site import Partition, Policy, Purpose, Site
from voyageur.spec import Resources, Spec
from voyageur.spec.keys import nearest
from voyageur.units import Duration

_UNSAID = (Policy.FORBIDDEN, Policy.IGNORED)


def choose_partition(spec: Spec, wanted: Resources, site: Site) -> tuple[Partition, str]:
    """The partition, and why that one."""
    candidates = _candidates(spec, site)
    found = [obstacles(wanted, partition, site) for partition in candidates]
    for partition, those in zip(candidates, found, strict=True):
        if not those:
            return partition, _reason(spec, partition, site)
    raise closest(found)


def longest_time(spec: Spec, wanted: Resources, site: Site) -> Duration | None:
    """What the most patient of the partitions that could run it allows; None where nobody says."""
    limits = []
    for partition in _candidates(spec, site):
        shortest = partition.time_minimum or site.times.minimum or Duration(1)
        if not obstacles(replace(wanted, time=shortest), partition, site):
            limits.append(partition.time_limit or site.times.maximum)
    known = [limit for limit in limits if limit]
    return max(known) if known and len(known) == len(limits) else None


def decide_queue(spec: Spec, site: Site, partition: Partition, because: str) -> Queue:
    """What sbatch is told of it. On this machine there are no queues."""
    local = site.engine == "local"
    named = not local and partition.named and site.request.partition not in _UNSAID
    return Queue(
        place=partition.name,
        whole_node=partition.whole_node,
        partition=Choice(value=(partition.flag or partition.name) if named else None, because=because),
        qos=_own_or(spec, "qos", None if local else partition.qos, partition, site),
        constraint=_own_or(spec, "constraint", None if local else partition.constraint, partition, site),
    )


def _own_or(spec: Spec, key: str, usual: str | None, partition: Partition, site: Site) -> Choice[str | None]:
    if own := getattr(spec, key):
        return Choice(value=own, because=asked(spec, key))
    if usual is None:
        return Choice(value=None, because="none asked for")
    return Choice(value=usual, because=f"{site.name}: what `{partition.name}` is called by")


def _candidates(spec: Spec, site: Site) -> list[Partition]:
    """Those that the user's words leave, the usual one first. Queues for tests and transfers only who names them."""
    if not site.partitions:
        raise SiteError(
            f"{site.title} shows no partition", hint="`sinfo` should list some; is this account allowed in?"
        )
    left: Sequence[Partition] = site.partitions
    if site.engine != "local":
        left = _named(spec, site) if spec.partition else left
        left = _narrowed(left, lambda partition: partition.qos == spec.qos, spec.qos)
        left = _narrowed(left, lambda partition: _has_feature(partition, spec.constraint), spec.constraint)
        if not spec.partition and not spec.qos:
            left = [partition for partition in left if _is_for_all(partition)] or left
    return sorted(left, key=lambda partition: (not partition.default, partition.preemptible))


def _is_for_all(partition: Partition) -> bool:
    return partition.purpose is Purpose.PRODUCTION and not partition.restricted


def _narrowed(left: Sequence[Partition], fits: Callable[[Partition], bool], word: str | None) -> Sequence[Partition]:
    """Words that the profile does not know are still the user's to say."""
    return [partition for partition in left if fits(partition)] or left if word else left


def _has_feature(partition: Partition, constraint: str | None) -> bool:
    return bool(constraint and partition.constraint and partition.constraint in constraint)


def _named(spec: Spec, site: Site) -> list[Partition]:
    if site.request.partition in _UNSAID:
        raise SiteError(
            f"{site.name} chooses the partition itself",
            facts=[f"partition `{spec.partition}` is {asked(spec, 'partition')}"],
            hint="leave the partition out",
        )
    named = [partition for partition in site.partitions if spec.partition in (partition.flag, partition.name)]
    if named:
        return named
    names = list(dict.fromkeys(partition.flag or partition.name for partition in site.partitions))
    guess = nearest(str(spec.partition), names)
    raise SiteError(
        f"{site.name} has no partition `{spec.partition}`",
        facts=["it has: " + ", ".join(names)],
        hint=f"did you mean `--partition {guess}`?" if guess else "`sinfo -s` lists them",
    )


def _reason(spec: Spec, partition: Partition, site: Site) -> str:
    if spec.partition and site.engine != "local":
        return asked(spec, "partition")
    if partition.default:
        return "the default partition has what is asked for"
    return "the first partition that has what is asked for; the default one has not"
