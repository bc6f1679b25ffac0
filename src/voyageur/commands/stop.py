"""`voy stop`: end a run in good order, so that it can be resumed."""

from __future__ import annotations

import click

from voyageur.commands.completing import run_argument
from voyageur.show.output import emit


@click.command("stop")
@run_argument("names", nargs=-1, required=True, metavar="RUN...")
def command(names: tuple[str, ...]) -> None:
    """Warn runs as if their time were nearly up: they save and end, and no further piece starts."""
    from voyageur.commands import session

    runs = session.runs()
    for run in [runs.find(name) for name in names]:
        run, verdict = runs.look(run)
        if verdict.state.is_final:
            emit(f"{run.id} has already ended: {verdict.state.value}")
            continue
        run.note("stop asked")  # before: the job looks there to tell a stop from a preemption
        try:
            session.engine_of(run.record.engine).stop(run)
        except BaseException:
            run.note("stop failed")
            raise
        emit(f"{run.id} is asked to save and end; `voy resume {run.id}` goes on with it")
