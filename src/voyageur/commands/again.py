"""Starting a run's script once more in the same folder: what `voy resume` and `voy extend` share."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from voyageur.commands import session
from voyageur.engines import Again
from voyageur.errors import RunError, SpecError
from voyageur.record import Run, State
from voyageur.runtime import folder as files
from voyageur.spec.keys import KEYS
from voyageur.units import Duration

_LATELY = 86_400.0  # seconds


def next_number(run: Run) -> int:
    """Submissions are counted: a job of an older one leaves."""
    told = (files.submission_from(str(event.get("submission", ""))).number for event in run.events)
    return max([1, *told]) + 1


def read_change(key: str, flag: str, value: str | None) -> Any:
    if value is None:
        return None
    try:
        return KEYS[key](value)
    except ValueError as problem:
        hint = f"write `{flag}` as for `voy submit`"
        raise SpecError(f"{flag} is not right", facts=[f"{value}: {problem}"], hint=hint) from None


def warning_for(run: Run, time: Duration | None) -> Duration:
    """The plan's; where a shorter time leaves too little to work in, a quarter of that."""
    plan = json.loads((run.folder / files.PLAN).read_text())
    warn = Duration.parse(plan["warn"]["value"])
    if time and warn.seconds * 2 > time.seconds:
        return Duration(max(1, time.seconds // 4))
    return warn


def check_environment(run: Run) -> None:
    """It may have been pruned since the run ended; a job would wait for its turn and then find nothing."""
    built = (files.read_json(str(run.folder / files.PLAN)) or {}).get("environment") or {}
    archive = built.get("archive")
    if archive and not Path(archive).exists():
        hint = f"`voy env build` in {run.record.project_root} makes it anew, if the lock there still says the same"
        raise RunError(f"the environment of {run.id} is not there any more", facts=[archive], hint=hint)


def give_secrets(run: Run) -> None:
    """They were removed when the run ended; this shell has them."""
    names = list((run.record.spec.get("env.secrets") or {}).get("value") or [])
    environment = session.environment()
    if missing := [name for name in names if name not in environment]:
        raise SpecError(
            f"the secret {missing[0]} is not set in this shell",
            facts=[f"{run.id} was submitted with it"],
            hint=f"export {missing[0]} first; its value goes into no script and no log",
        )
    if names:
        values = {name: environment[name] for name in names}
        files.write_atomically(str(run.folder / files.SECRETS), json.dumps(values).encode())


def resume(run: Run, again: Again, warn: Duration, pieces: int | None) -> str:
    """The old end is put aside before the new job may begin, and put back when there is none."""
    check_environment(run)
    give_secrets(run)
    marker = run.folder / files.MARKER
    old = marker.read_bytes() if marker.exists() else b""
    limit = again.time.seconds if again.time else None
    run.note("resumed", submission=again.submission, time_limit=limit, warn=warn.seconds, pieces=pieces)
    marker.unlink(missing_ok=True)
    try:
        job = session.engine_of(run.record.engine).submit_again(run, again)
    except BaseException:
        if old:
            files.write_atomically(str(marker), old)
        run.forget_secrets()
        raise
    run.note("submitted", job=job, submission=again.submission)
    return job


def hint_for(run: str, state: State) -> str:
    """What to do with a run that has not ended, in place of resuming it."""
    if state is State.UNKNOWN:
        return f"it may still run, and is not started a second time: `voy status {run}` asks again"
    if state in (State.RUNNING, State.ENDING):
        return f"`voy extend {run}` adds pieces to it; `voy stop {run}` ends it in good order"
    return f"it will begin by itself; `voy status {run}` says what it waits for, `voy cancel {run}` takes it back"


def bad_nodes(run: Run) -> tuple[str, ...]:
    """Those that have failed it lately; by tomorrow somebody may have repaired them."""
    found = (event for event in run.events if event["event"] == files.LEFT_OUT)
    return tuple(dict.fromkeys(str(event["node"]) for event in found if time.time() - event["time"] < _LATELY))


def refuse_final(run: Run, state: str) -> None:
    raise RunError(
        f"{run.id} has already ended: {state}", hint=f"`voy resume {run.id}` goes on from its newest checkpoint"
    )
