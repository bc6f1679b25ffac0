"""`voy logs`: what a run has printed, and what it goes on to print."""

from __future__ import annotations

import sys

import click

from voyageur.commands.completing import run_argument
from voyageur.show.output import aside, write


@click.command("logs")
@run_argument("name", metavar="RUN")
@click.option("-f", "--follow", "following", is_flag=True, help="go on until the run ends")
@click.option("-n", "--lines", type=click.IntRange(min=0), help="only the last so many lines")
def command(name: str, following: bool, lines: int | None) -> None:
    """Print a run's log; -f follows it until the run ends."""
    from voyageur.commands import session
    from voyageur.commands.following import Log, follow
    from voyageur.show.runs import summary_line
    from voyageur.show.style import has_colours

    runs = session.runs()
    run = runs.find(name)
    if following:
        run, verdict = follow(runs, run, from_end=lines)
        aside(summary_line(run, verdict, has_colours(sys.stderr)))
        return
    if not run.log.exists():
        _, verdict = runs.look(run)
        aside(f"{run.id} has written nothing yet: {verdict.state.value} {verdict.because}".rstrip())
        return
    Log(run.log, write, lines).copy()
