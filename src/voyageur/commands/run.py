"""`voy run`: the same on this machine without Slurm, and wait for it."""

from __future__ import annotations

import sys
from typing import Any

import click

from voyageur.commands.options import Wish, wish_options
from voyageur.show.output import aside


@click.command("run")
@wish_options
def command(**typed: Any) -> None:
    """Run a command on this machine, from the same script, and wait for it."""
    from voyageur.commands import session
    from voyageur.commands.following import follow
    from voyageur.commands.planning import make_run, plan_from
    from voyageur.errors import SpecError
    from voyageur.show.runs import summary_line
    from voyageur.show.style import has_colours

    wish = Wish(**typed)
    if (asked := wish.flags.get("site")) and asked.value != "local":
        raise SpecError("`voy run` runs on this machine", hint=f"`voy submit --on {asked.value}` submits it there")
    planned = plan_from(wish, site_name="local")
    for note in planned.plan.notes:
        aside(f"note: {note}")
    run = make_run(planned)
    engine = session.engine_of("local")
    engine.submit(run)
    run = run.reread()
    runs = session.runs()
    try:
        run, verdict = follow(runs, run)
    except KeyboardInterrupt:
        run.note("cancel asked")
        engine.cancel(run)
        runs.remember(*follow(runs, run, quietly=True))
        aside(f"\n{run.id} was cancelled; its folder: {run.folder}")
        raise
    runs.remember(run, verdict)
    aside(summary_line(run, verdict, has_colours(sys.stderr)))
    aside(f"everything about it: {run.folder}")
    if verdict.hint:
        aside(f"hint: {verdict.hint}")
    sys.exit(0 if verdict.state.is_good else 1)
