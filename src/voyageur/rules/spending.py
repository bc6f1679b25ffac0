"""What a wish costs against what is left, and what earlier runs asked for and did not use."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from voyageur.findings import Finding, Level
from voyageur.rules.model import Advice, Case, Check, Rule
from voyageur.rules.reading import cpus_a_node, is_cluster
from voyageur.units import Size

BUDGET = Rule(
    id="budget",
    numbers=(60,),
    level=Level.HINT,
    because="when an allocation is used up, jobs wait long or are refused",
    fix="`voy budget` shows what is left",
    source="documentation of the sites: accounting",
)
WASTE = Rule(
    id="waste",
    numbers=(61,),
    level=Level.HINT,
    because="what is asked for and not used waits longer in the queue, and is billed all the same",
    fix="ask for less",
    source="Alliance documentation: Best practices for job submission",
)

_MUCH = 0.25  # of what is left


def budget(case: Case) -> Iterator[Finding]:
    """The plan shows cost and balance; worth a word is what takes a large part of it."""
    cost, left = case.plan.cost, case.plan.left
    if cost is None or cost.amount is None or left is None or left.left is None:
        return
    if cost.amount > left.left * _MUCH:
        what = f"up to {cost.amount:,.0f} {cost.unit.value}, and {left.left:,.0f} are left on {left.account}"
        yield BUDGET.broken(what, source=case.site.accounting.source)


_MEMORY_USED, _CPU_USED = 0.8, 0.9


def waste(case: Case) -> Iterator[Finding]:
    history, shape = case.known.history, case.plan.shape
    if len(history) < 2 or not is_cluster(case):
        return
    memory = shape.memory.value
    peak = max((run.peak_memory for run in history if run.peak_memory), default=None)
    mine = case.spec.says("resources.memory") or case.spec.says("resources.memory_per_gpu") or not shape.gpus.value
    if memory and peak and mine and peak.bytes < memory.bytes * _MEMORY_USED:
        what = f"{memory} of memory are asked for, and the last {len(history)} runs used at most {peak}"
        enough = Size(ceil(peak.bytes * 1.2 / Size.UNITS["G"]) * Size.UNITS["G"])
        if enough < memory:
            yield WASTE.broken(what, fix=f"`--memory {enough}`")
    yield from _wasted_cores(case)


def _wasted_cores(case: Case) -> Iterator[Finding]:
    """Cores beside a GPU come with it; those of a program without one should work."""
    shape, cpus = case.plan.shape, cpus_a_node(case)
    busy = [run.cpu_seconds / run.took.seconds for run in case.known.history if run.cpu_seconds and run.took.seconds]
    if shape.gpus.value or shape.nodes.value > 1 or not busy or max(busy) >= cpus * _CPU_USED:
        return
    if (enough := max(1, ceil(max(busy)))) < cpus:
        what = f"{cpus} cores are asked for, and the last runs kept {max(busy):.1f} busy"
        yield WASTE.broken(what, fix=f"`--cpus {enough}`")


RULES = (BUDGET, WASTE)
CHECKS: tuple[Check, ...] = (budget, waste)
ADVICE: tuple[Advice, ...] = ()
