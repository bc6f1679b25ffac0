"""`voy wait`: until runs have ended; the exit code says whether all went well."""

from __future__ import annotations

import sys
import time

import click

from voyageur.commands.completing import run_argument
from voyageur.show.output import emit, emit_json


@click.command("wait")
@run_argument("names", nargs=-1, required=True, metavar="RUN...")
@click.option("--timeout", metavar="TIME", help="give up waiting after this long, like 10m; the runs go on")
@click.option("--json", "as_json", is_flag=True, help="one JSON document")
def command(names: tuple[str, ...], timeout: str | None, as_json: bool) -> None:
    """Wait until runs have ended. Exit code 0 if all are done, 1 if any is not."""
    from voyageur.commands import session
    from voyageur.commands.following import states
    from voyageur.errors import RunError, SpecError
    from voyageur.record import State, Verdict
    from voyageur.show.runs import run_document, run_text, summary_line
    from voyageur.show.style import has_colours
    from voyageur.units import Duration, UnitError

    try:
        deadline = time.monotonic() + Duration.parse(timeout).seconds if timeout else float("inf")
    except UnitError as problem:
        raise SpecError("--timeout is not right", facts=[f"{timeout}: {problem}"], hint="write it like 10m") from None
    runs = session.runs()
    ended = []
    for run in [runs.find(name) for name in names]:
        verdict: Verdict | None = None
        for run, verdict in states(runs, run):  # noqa: B020 - each state is the run anew
            if time.monotonic() > deadline and not (verdict and verdict.state.is_final):
                raise RunError(
                    f"{run.id} has not ended yet",
                    facts=[f"waited {timeout}; it goes on"],
                    hint=f"`voy status {run.id}` tells what it does, `voy cancel {run.id}` ends it",
                )
        verdict = verdict or Verdict(state=State.UNKNOWN)
        runs.remember(run, verdict)
        ended.append((run, verdict))
        if not as_json:
            good = verdict.state.is_good
            emit(summary_line(run, verdict, has_colours()) if good else run_text(run, verdict, has_colours()))
    if as_json:
        documents = [run_document(run, verdict) for run, verdict in ended]
        emit_json(documents[0] if len(documents) == 1 else documents)
    sys.exit(0 if all(verdict.state.is_good for _, verdict in ended) else 1)
