"""`voy logs`: what a run has printed, and what it goes on to print."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from voyageur.commands.completing import run_argument
from voyageur.show.output import aside, write

if TYPE_CHECKING:
    from voyageur.record import Run


@click.command("logs")
@run_argument("name", metavar="RUN")
@click.option("-f", "--follow", "following", is_flag=True, help="go on until the run ends")
@click.option("-n", "--lines", type=click.IntRange(min=0), help="only the last so many lines")
@click.option("--rank", type=click.IntRange(min=0), help="only what this rank wrote")
@click.option("--node", metavar="NAME", help="only what the ranks of this node wrote")
def command(name: str, following: bool, lines: int | None, rank: int | None, node: str | None) -> None:
    """Print a run's log; -f follows it until the run ends."""
    from voyageur.commands import session
    from voyageur.commands.following import Log, follow
    from voyageur.show.runs import summary_line
    from voyageur.show.style import has_colours

    runs = session.runs()
    run = runs.find(name)
    show = _only(run, rank, node)
    if following:
        run, verdict = follow(runs, run, from_end=lines, show=show)
        aside(summary_line(run, verdict, has_colours(sys.stderr)))
        return
    if not run.log.exists():
        _, verdict = runs.look(run)
        aside(f"{run.id} has written nothing yet: {verdict.state.value} {verdict.because}".rstrip())
        return
    if show is write or lines is None:
        Log(run.log, show, lines).copy()
    else:
        _last_of_some(run, rank, node, lines)


def _only(run: Run, rank: int | None, node: str | None) -> Callable[[bytes], object]:
    if rank is None and node is None:
        return write
    from voyageur.record.ranks import Lines, ranks_asked

    some = Lines(set(ranks_asked(run, rank, node)))
    return lambda block: write(some.of(block))


def _last_of_some(run: Run, rank: int | None, node: str | None, lines: int) -> None:
    """The last lines of a rank may stand far from the log's end."""
    from collections import deque

    from voyageur.record.ranks import Lines, ranks_asked

    some = Lines(set(ranks_asked(run, rank, node)))
    with open(run.log, "rb") as file:
        last = deque((line for line in file if some.of(line)), maxlen=lines)
    write(b"".join(last))
