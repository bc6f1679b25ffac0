"""Wishes to judge: the planner's own plan on a plain cluster, with the facts and the flags that a rule is about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

from msgspec.structs import replace

from tests.plan.wishes import CLUSTER, CODE, wish
from voyageur.plan import Directive, Identity, Surroundings, make_plan
from voyageur.rules import Case, Known, PastRun
from voyageur.site import Gpu, Partition, Queues, Site
from voyageur.site.facts import (
    Access,
    Accounting,
    Conduct,
    Limits,
    LocalDisk,
    Network,
    Request,
    Software,
    Storage,
    Times,
)
from voyageur.units import Duration, Size

HOME = {"HOME": "/home/ada", "USER": "ada", "SCRATCH": "/scratch/ada", "WORK": "/work/ada"}
Asked: TypeAlias = dict[str, Any]
Judged: TypeAlias = Case | Site  # a wish, or a site of which something is said to everybody


class Trial(NamedTuple):
    """`how`: of the ways to break a rule, which one. `keeps` is like `breaks`, and keeps it."""

    rule: str
    how: str
    breaks: Judged
    keeps: Judged


def time(text: str) -> Duration:
    return Duration.parse(text)


def size(text: str) -> Size:
    return Size.parse(text)


# ── sites ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def site(**groups: Any) -> Site:
    return replace(CLUSTER, name="oak", title="Oak", **groups)


def queue(**facts: Any) -> Queues:
    """One partition, and so the one that every wish goes to."""
    trap = facts.pop("trap", None)
    usual = {"name": "main", "default": True, "cpus": 64, "memory": size("256000M")}
    return Queues(source="Oak's manual: queues", trap=trap, partitions=(Partition(**{**usual, **facts}),))


def with_queue(**facts: Any) -> Site:
    return site(queues=queue(**facts))


def with_gpus(*gpus: Gpu, **groups: Any) -> Site:
    return site(queues=queue(cpus=48, gpus=gpus), **groups)


def a100(**facts: Any) -> Gpu:
    return Gpu(**{"name": "a100", "per_node": 4, "cpus_each": 12, "memory_each": size("60G"), **facts})


def times(**facts: Any) -> Site:
    return site(times=Times(source="Oak's manual: time limits", **facts))


def request(**facts: Any) -> Site:
    return site(request=Request(source="Oak's manual: flags", **facts))


def limits(**facts: Any) -> Site:
    return site(limits=Limits(source="Oak's manual: limits", **facts))


def accounting(**facts: Any) -> Site:
    return site(accounting=Accounting(source="Oak's manual: accounting", **facts))


def storage(*places: Any, **facts: Any) -> Site:
    return site(storage=Storage(source="Oak's manual: storage", places=places, **facts))


def disk(**facts: Any) -> Site:
    return site(local_disk=LocalDisk(source="Oak's manual: local disks", **facts))


def network(**facts: Any) -> Site:
    return site(network=Network(source="Oak's manual: network", **facts))


def software(**facts: Any) -> Software:
    return Software(source="Oak's manual: software", **facts)


def conduct(**facts: Any) -> Site:
    return site(conduct=Conduct(source="Oak's manual: conduct", **facts))


def access(**facts: Any) -> Site:
    return site(access=Access(source="Oak's manual: access", **facts))


# ── wishes ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def known(**facts: Any) -> Known:
    return Known(here=True, environment=HOME, **facts)


def past(took: str, **facts: Any) -> PastRun:
    return PastRun(run="train-0000", limit=time("1d"), took=time(took), **facts)


def case(
    where: Site = CLUSTER,
    known: Known | None = None,
    flags: Sequence[str] = (),
    without: Sequence[str] = (),
    scratch: str = "/scratch/ada",
    venv: str | None = None,
    **asked: Any,
) -> Case:
    """`flags` are said to sbatch as well, and those `without` are not: what a planner with a mistake would do."""
    spec = wish(**asked)
    around = Surroundings(scratch=scratch, active_venv=venv)
    plan = make_plan(spec, where, around, Identity(slug="train", token="0123456789ab"), CODE)
    kept = [one for one in plan.directives if one.flag.partition("=")[0] not in without]
    said = (*kept, *(Directive(flag=flag, because="a test") for flag in flags))
    known = known or Known(here=True, environment=HOME)
    return Case(spec=spec, site=where, plan=replace(plan, directives=said), known=known)


def asks(**asked: Any) -> Asked:
    return asked


def runs(*words: str, **asked: Any) -> Asked:
    return {"command": words, **asked}


def on(where: Site, rule: str, how: str, breaks: Asked, keeps: Asked) -> Trial:
    """Two wishes on one site."""
    return Trial(rule, how, case(where, **breaks), case(where, **keeps))


def of(asked: Asked, rule: str, how: str, breaks: Site, keeps: Site) -> Trial:
    """One wish on two sites."""
    return Trial(rule, how, case(breaks, **asked), case(keeps, **asked))


def if_known(asked: Asked, rule: str, how: str, breaks: Known, keeps: Known) -> Trial:
    """One wish, and what is known of the world."""
    return Trial(rule, how, case(known=breaks, **asked), case(known=keeps, **asked))


def advised(rule: str, how: str, breaks: Site) -> Trial:
    return Trial(rule, how, breaks, site())
