"""`voy submit`: plan, freeze, write down, submit; prints the run's id and returns at once."""

from __future__ import annotations

import sys
from typing import Any

import click

from voyageur.commands.options import Wish, shape_option, wish_options
from voyageur.show.output import aside, emit, emit_json


@click.command("submit")
@wish_options
@click.option("--json", "as_json", is_flag=True, help="run, job and folder as one JSON document")
@shape_option
def command(as_json: bool, shape: str | None, **typed: Any) -> None:
    """Submit a command to Slurm; prints the run's id and returns at once."""
    from voyageur.commands import etiquette, session
    from voyageur.commands.ahead import line_up, pieces_of
    from voyageur.commands.building import make_what_is_missing
    from voyageur.commands.judging import refuse_errors, warn
    from voyageur.commands.planning import make_run
    from voyageur.commands.shaping import planned_as
    from voyageur.engines import Again
    from voyageur.record import State, Verdict

    wish = Wish(**typed)
    make_what_is_missing(wish)
    wish.brings = True
    planned = planned_as(wish, shape)
    refuse_errors(planned.findings, planned.site)
    session.check_can_submit(planned.site)
    etiquette.pause_before_submit(planned.site)
    run = make_run(planned)
    try:
        job = session.engine_for(planned.site).submit(run)
    except KeyboardInterrupt:
        aside(f"\n{run.id} may have been submitted: `voy status {run.id}` looks for it, `voy cancel {run.id}` ends it")
        raise
    if ahead := pieces_of(run):
        line_up(run, job, Again(number=2), ahead - 1)
    session.runs().remember(run.reread(), Verdict(state=State.PENDING))
    for note in planned.plan.notes:
        aside(f"note: {note}")
    warn(planned.findings)
    if as_json:
        emit_json(
            {
                "run": run.id,
                "job": job,
                "site": planned.site.name,
                "folder": str(run.folder),
                "account": planned.plan.account.value,
                "cost": planned.plan.cost,
            }
        )
    else:
        emit(run.id)
    if sys.stderr.isatty():
        from voyageur.show.allowance import spending_text

        if spending := spending_text(planned.plan):
            aside(spending)
        aside(f"job {job} on {planned.site.name}; follow it with: voy logs {run.id} -f")
