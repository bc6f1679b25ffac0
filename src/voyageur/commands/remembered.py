"""What earlier runs tell of a cluster's queue, and of how long this experiment takes to begin."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec.structs import replace

from voyageur.commands import session
from voyageur.errors import RunError
from voyageur.plan import Surroundings, Waited, slug_for
from voyageur.record import Run, load
from voyageur.record.attempts import attempts_of
from voyageur.site import Site
from voyageur.spec import Spec
from voyageur.units import Duration

_MOST = 40  # runs, the newest of that cluster


def with_memories(around: Surroundings, spec: Spec, site: Site) -> Surroundings:
    """Only where they are wanted, to cut a long run: their folders are read for it."""
    wish = spec.checkpoint.chain
    if wish is None or wish.pieces or wish.piece or site.engine != "slurm":
        return around
    runs = list(_runs_on(site))
    begun = [
        float(tried.progress["begun"])
        for run in runs
        if run.id.rpartition("-")[0] == slug_for(spec) and run.record.project == spec.project.name
        for tried in attempts_of(run)
        if tried.progress.get("begun")
    ]
    start = statistics.median(begun) if begun else None
    return replace(around, waits=tuple(_waits(runs)), start_up=start)


def _runs_on(site: Site) -> Iterator[Run]:
    entries = (entry for entry in session.index().read().values() if entry.site == site.name and entry.started)
    for entry in sorted(entries, key=lambda entry: -entry.created)[:_MOST]:
        try:
            yield load(Path(entry.folder))
        except RunError:
            continue  # its folder was cleaned away


def _waits(runs: Iterable[Run]) -> Iterator[Waited]:
    """Before its first attempt, and before each piece that followed an end in good order."""
    for run in runs:
        tried, limit = attempts_of(run), Duration(run.record.time_limit)
        if tried and run.last("resumed") is None:
            yield Waited(limit=limit, seconds=max(0.0, tried[0].started - run.record.created))
            for before, after in itertools.pairwise(tried):
                if before.ended and before.end in ("stopped", "timeout"):
                    yield Waited(limit=limit, seconds=max(0.0, after.started - before.ended))
