"""`voy resume`: go on with a run that has ended, from its newest whole checkpoint."""

from __future__ import annotations

import click

from voyageur.commands.completing import run_argument
from voyageur.show.output import emit


@click.command("resume")
@run_argument("name", metavar="RUN")
@click.option("-t", "--time", metavar="VALUE", help="another time limit, for each piece")
@click.option("--memory", metavar="VALUE", help="another amount of memory on each node")
@click.option("--pieces", type=click.IntRange(min=1), metavar="N", help="so many pieces at most")
@click.option("--force", is_flag=True, help="also a run that is done")
def command(name: str, time: str | None, memory: str | None, pieces: int | None, force: bool) -> None:
    """Go on with a run that has ended, from its newest whole checkpoint: same folder, same code, same log."""
    from msgspec.structs import replace

    from voyageur.commands import again as once_more
    from voyageur.commands import session
    from voyageur.commands.ahead import line_up, pieces_of
    from voyageur.engines import Again
    from voyageur.errors import RunError
    from voyageur.record import State

    runs = session.runs()
    run, verdict = runs.look(runs.find(name))
    if not verdict.state.is_final:
        hint = once_more.hint_for(run.id, verdict.state)
        raise RunError(f"{run.id} has not ended: {verdict.state.value}", hint=hint)
    if verdict.state is State.DONE and not force:
        raise RunError(f"{run.id} is done", hint=f"`voy resume {run.id} --force` starts it once more all the same")
    limit = once_more.read_change("resources.time", "--time", time)
    changes = Again(
        number=once_more.next_number(run),
        time=limit,
        memory=once_more.read_change("resources.memory", "--memory", memory),
        pieces=pieces,
        without=once_more.bad_nodes(run),
    )
    ahead = pieces_of(run)
    first = replace(changes, pieces=None) if ahead else changes
    job = once_more.resume(run, first, once_more.warning_for(run, limit), pieces)
    if ahead:
        line_up(run, job, replace(first, number=first.number + 1), (pieces or ahead) - 1)
    emit(f"{run.id} goes on as job {job}")
