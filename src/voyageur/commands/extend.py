"""`voy extend`: more pieces for a long run that is still going on."""

from __future__ import annotations

import click

from voyageur.commands.completing import run_argument
from voyageur.show.output import emit


@click.command("extend")
@run_argument("name", metavar="RUN")
@click.option("--pieces", type=click.IntRange(min=1), default=1, metavar="N", help="so many more; by default one")
def command(name: str, pieces: int) -> None:
    """Add pieces to a run that is still going on. They start when all others are over, if there is work left."""
    from voyageur.commands import again as once_more
    from voyageur.commands import session
    from voyageur.commands.ahead import line_up, pieces_of
    from voyageur.engines import Again
    from voyageur.engines.slurm import SlurmEngine

    runs = session.runs()
    run, verdict = runs.look(runs.find(name))
    if verdict.state.is_final:
        once_more.refuse_final(run, verdict.state.value)
    engine = session.engine_of(run.record.engine)
    if not isinstance(engine, SlurmEngine):  # this machine waits for nothing: the job itself begins once more
        run.note("extended", pieces=pieces)
        emit(f"{run.id} has {pieces} more piece{'' if pieces == 1 else 's'}")
        return
    changes = Again(number=once_more.next_number(run), pieces=pieces, after=engine.active(run))
    if pieces_of(run) and changes.after:
        line_up(run, max(changes.after, key=int), changes, pieces)
        emit(f"{run.id} has {pieces} more piece{'' if pieces == 1 else 's'}")
        return
    job = engine.submit_again(run, changes)
    run.note("successor submitted", follower=job, submission=changes.submission, pieces=pieces)
    emit(f"{run.id} has {pieces} more piece{'' if pieces == 1 else 's'}, job {job}")
