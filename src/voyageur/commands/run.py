"""`voy run`: the same on this machine without Slurm, and wait for it."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from voyageur.commands.options import Wish, wish_options
from voyageur.errors import ClusterError, SpecError
from voyageur.show.output import aside

if TYPE_CHECKING:
    from voyageur.engines import Engine
    from voyageur.record import Run
    from voyageur.runs import Runs


def _cancel(runs: Runs, engine: Engine, run: Run) -> None:
    """What was begun is ended; a second ^C leaves it to the job's own keeper."""
    from voyageur.commands.following import follow

    run.note("cancel asked")
    run = run.reread()
    if run.job is not None:
        with suppress(ClusterError):  # it has ended in this very moment
            engine.cancel(run)
        runs.remember(*follow(runs, run, quietly=True))
    aside(f"\n{run.id} was cancelled; its folder: {run.folder}")


@click.command("run")
@wish_options
def command(**typed: Any) -> None:
    """Run a command on this machine, from the same script, and wait for it."""
    from voyageur.commands import session
    from voyageur.commands.building import make_what_is_missing
    from voyageur.commands.following import follow
    from voyageur.commands.judging import refuse_errors, warn
    from voyageur.commands.planning import make_run, plan_from
    from voyageur.show.runs import first_failure_text, summary_line
    from voyageur.show.style import has_colours

    wish = Wish(**typed)
    wish.brings = True
    if (asked := wish.flags.get("site")) and asked.value != "local":
        raise SpecError("`voy run` runs on this machine", hint=f"`voy submit --on {asked.value}` submits it there")
    make_what_is_missing(wish, site_name="local")
    planned = plan_from(wish, site_name="local")
    refuse_errors(planned.findings, planned.site)
    for note in planned.plan.notes:
        aside(f"note: {note}")
    warn(planned.findings)
    run = make_run(planned)
    engine, runs = session.engine_of("local"), session.runs()
    try:
        engine.submit(run)
        run, verdict = follow(runs, run)
    except KeyboardInterrupt:
        _cancel(runs, engine, run)
        raise
    runs.remember(run, verdict)
    several = planned.plan.shape.nodes.value * planned.plan.shape.ranks.value > 1
    if several and (first := first_failure_text(run, verdict, has_colours(sys.stderr))):
        aside(first)
    aside(summary_line(run, verdict, has_colours(sys.stderr)))
    aside(f"everything about it: {run.folder}")
    if verdict.hint:
        aside(f"hint: {verdict.hint}")
    sys.exit(0 if verdict.state.is_good else 1)
