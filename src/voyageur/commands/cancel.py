"""`voy cancel`: ask runs to end."""

from __future__ import annotations

import click

from voyageur.commands.completing import run_argument
from voyageur.show.output import emit


@click.command("cancel")
@run_argument("names", nargs=-1, required=True, metavar="RUN...")
def command(names: tuple[str, ...]) -> None:
    """Cancel runs. They are asked to end first, and killed if they do not."""
    from voyageur.commands import session

    runs = session.runs()
    for run in [runs.find(name) for name in names]:
        run, verdict = runs.look(run)
        if verdict.state.is_final:
            emit(f"{run.id} has already ended: {verdict.state.value}")
            continue
        run.note("cancel asked")  # before: the job looks there to tell a cancel from a preemption
        try:
            session.engine_of(run.record.engine).cancel(run)
        except BaseException:
            run.note("cancel failed")
            raise
        emit(f"{run.id} is asked to end")
