"""`voy checkpoint`: ask a program to save now and go on."""

from __future__ import annotations

import click

from voyageur.commands.completing import run_argument
from voyageur.show.output import emit


@click.command("checkpoint")
@run_argument("names", nargs=-1, required=True, metavar="RUN...")
def command(names: tuple[str, ...]) -> None:
    """Ask programs to save now and go on. Those that use `job.should_save()` do."""
    from voyageur.commands import session
    from voyageur.errors import RunError
    from voyageur.record import State
    from voyageur.runtime import folder as files

    runs = session.runs()
    for run in [runs.find(name) for name in names]:
        run, verdict = runs.look(run)
        if verdict.state is not State.RUNNING:
            raise RunError(
                f"{run.id} does not run: {verdict.state.value}",
                hint=f"`voy status {run.id} --timeline` shows its attempts and their checkpoints",
            )
        files.write_atomically(str(run.folder / files.SAVE), b"save now, and go on\n")
        run.note("save asked")
        emit(f"{run.id} is asked to save and go on; a program that looks at `job.should_save()` does")
