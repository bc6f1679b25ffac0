"""Pieces that are submitted ahead, each to begin when the one before it is over: where jobs may not submit any."""

from __future__ import annotations

import json

from msgspec.structs import replace

from voyageur.commands import etiquette, session
from voyageur.engines import Again
from voyageur.errors import ClusterError
from voyageur.plan.chain import AHEAD
from voyageur.record import Run
from voyageur.runtime import folder as files
from voyageur.show.output import aside


def pieces_of(run: Run) -> int:
    """How many were planned to be submitted ahead; none where its pieces follow each other in another way."""
    chain = json.loads((run.folder / files.PLAN).read_text()).get("chain")
    return int(chain["pieces"]["value"]) if chain and chain["by"]["value"] == AHEAD else 0


def line_up(run: Run, job: str, first: Again, count: int) -> None:
    """So many after `job`, each like `first`. What cannot be submitted is told: the run goes on with what there is."""
    for submitted in range(count):
        etiquette.pause_between(run.record.site)
        again = replace(first, number=first.number + submitted, after=(job,), pieces=None)
        try:
            job = session.engine_of(run.record.engine).submit_again(run, again)
        except ClusterError as problem:
            aside(f"note: {submitted} of {count} further pieces were submitted: {problem}")
            return
        run.note("successor submitted", follower=job, submission=again.submission, after=again.after[0], pieces=1)
        if run.reread().marker:  # a first piece that was quick has ended the run
            return
