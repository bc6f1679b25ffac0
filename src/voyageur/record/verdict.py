"""What became of a run, from what is known. Pure and total.

The order: the run's own marker; what an earlier question has settled; the queue; the accounting; else unknown. A
failed question changes nothing. Slurm's COMPLETED without the marker is suspect: a job that ends well in the grace of a
preemption is COMPLETED too, and so is a script whose only step was killed for its memory.
"""

from __future__ import annotations

import signal
import time

from msgspec import Struct

from voyageur.record.run import Json, Run
from voyageur.record.states import State
from voyageur.runtime.folder import BAD_NODE, LEFT_OUT, SILENT_SECONDS
from voyageur.slurm_text import JobRow, Phase, stuck_advice

SECOND_LOOK = 60.0  # a job that is in no answer is looked for again after this many seconds before it counts as lost


class Sighting(Struct, frozen=True, kw_only=True):
    """What one question brought for one run. Not answered and not found are different things."""

    answered: bool
    row: JobRow | None = None
    steps: tuple[JobRow, ...] = ()
    problem: str = ""


class Verdict(Struct, frozen=True, kw_only=True):
    """`first_look` names the event to write down when nothing can be said before a second look."""

    state: State
    because: str = ""
    exit_code: int | None = None
    signal: int | None = None
    hint: str = ""
    first_look: str = ""


def without_asking(run: Run) -> Verdict | None:
    """What the folder alone can say for sure."""
    if run.marker:
        return _by_marker(run.marker, run)
    settled = run.last("verdict", "submitted", "attempt started")
    if settled and settled["event"] == "verdict":
        return Verdict(
            state=_state(settled["state"]),
            because=str(settled.get("because", "")),
            exit_code=settled.get("exit_code"),
            signal=settled.get("signal"),
        )
    if (refused := run.last("refused")) and run.job is None:
        return Verdict(state=State.REFUSED, because=str(refused.get("reason", "")))
    return None


def judge(run: Run, sighting: Sighting | None, now: float | None = None) -> Verdict:
    now = time.time() if now is None else now
    if known := without_asking(run):
        return known
    if run.job is None:
        return Verdict(
            state=State.SUBMITTING, because=f"the answer of {_who(run)} was lost; the job is looked for by its name"
        )
    if sighting is None or not sighting.answered:
        return _unknown(run, sighting, now)
    if sighting.row is None:
        return _absent(run, now)
    return _by_row(run, sighting.row, sighting.steps, now)


_MARKED = {
    "done": State.DONE,
    "failed": State.FAILED,
    "cancelled": State.CANCELLED,
    "timeout": State.TIMEOUT,
    "stopped": State.STOPPED,
}


def _by_marker(marker: Json, run: Run) -> Verdict:
    state = _MARKED.get(str(marker.get("end")), State.UNKNOWN)
    code, signum = int(marker.get("exit_code", 0)), int(marker.get("signal", 0))
    first = first_to_fail(run) if state is State.FAILED else None
    for_memory = state is State.FAILED and bool(marker.get("oom_kills") or (first and first.get("oom_kills")))
    if first:
        code, signum = max(int(first.get("code", 0)), 0) or code, max(-int(first.get("code", 0)), 0)
    because = _why_it_failed(marker, first, code, signum) if state is State.FAILED else _end_in_words(run, state, code)
    return Verdict(
        state=state,
        because=f"{because}; the kernel killed a process of it for want of memory" if for_memory else because,
        exit_code=code,
        signal=signum or None,
        hint=_MORE_MEMORY if for_memory else _hint(run, state, code, signum, bool(first and first.get("problem"))),
    )


def _hint(run: Run, state: State, code: int, signum: int, told: bool) -> str:
    """`told`: what it failed of is known, and how its other processes were ended says nothing."""
    return ("" if told else _memory_hint(state, code, signum)) or _resume_hint(run, state)


def first_to_fail(run: Run) -> Json | None:
    """The rank that died first, of those that were not started anew: the others only followed it.

    A task that only starts others fails after them; it counts where none of them says anything. A rank that is known
    to have ended the others is the `first`, whenever it was seen to end.
    """
    failed = [event for event in run.events if event["event"] == "task failed" and event.get("attempt") == run.attempt]
    last_round = max((int(event.get("round", 0)) for event in failed if "rank" in event), default=0)
    ranks = [event for event in failed if "rank" in event and int(event.get("round", 0)) == last_round]
    return min(ranks or failed, key=_when_it_failed, default=None)


def _when_it_failed(event: Json) -> float:
    return 0.0 if event.get("first") else float(event.get("ended") or event["time"])


def _why_it_failed(marker: Json, first: Json | None, code: int, signum: int) -> str:
    if first is None:
        return str(marker.get("problem") or exit_in_words(code, signum))
    words = str(first.get("problem") or exit_in_words(code if not signum else 0, signum))
    rank = f"rank {first['rank']} on " if "rank" in first else "on "
    return f"{rank}{first.get('node')}: {words}"


def _end_in_words(run: Run, state: State, code: int) -> str:
    if state is State.TIMEOUT:
        return "its time was up"
    if state is not State.STOPPED:
        return ""
    if _last_asked(run) == "stop asked":
        return "as `voy stop` asked"
    return f"told that its time was nearly up, it ended with {code}; whether all its work was done is for it to say"


def exit_in_words(code: int, signum: int) -> str:
    if not signum and code - 128 in signal.valid_signals():
        signum = code - 128
    if signum:
        return f"killed by {signal_in_words(signum)}"
    if code == 127:
        return "exit code 127: a command was not found"
    if code == 126:
        return "exit code 126: a command could not be executed"
    return f"exit code {code}"


_SIGNALS = {
    1: "the hang-up of its terminal (SIGHUP)",
    2: "an interrupt (SIGINT)",
    6: "its own abort (SIGABRT)",
    7: "a bus error (SIGBUS)",
    8: "an arithmetic error (SIGFPE)",
    9: "force (SIGKILL)",
    11: "a memory access error (SIGSEGV)",
    15: "a request to end (SIGTERM)",
}


def signal_in_words(signum: int) -> str:
    if signum in _SIGNALS:
        return _SIGNALS[signum]
    try:
        return signal.Signals(signum).name
    except ValueError:
        return f"signal {signum}"


_MORE_MEMORY = "ask for more with `--memory`"


def _memory_hint(state: State, code: int, signum: int) -> str:
    if state is State.FAILED and (signum == signal.SIGKILL or code == 128 + signal.SIGKILL):
        return "something killed it without warning, most often for want of memory: try more with `--memory`"
    return ""


_UNFINISHED = (State.STOPPED, State.TIMEOUT, State.CANCELLED, State.FAILED)


def _resume_hint(run: Run, state: State) -> str:
    """Where the run's checkpoints are known: after anything that did not finish its work."""
    known = any(key.startswith("checkpoint.") for key in run.record.spec) or run.last("resumed from")
    return RESUME.format(run=run.id) if state in _UNFINISHED and known else ""


def _state(word: str) -> State:
    try:
        return State(word)
    except ValueError:
        return State.UNKNOWN


def _unknown(run: Run, sighting: Sighting | None, now: float) -> Verdict:
    last = run.last("submitted", "attempt started", "attempt ended")
    word = {"submitted": "pending", "attempt started": "running", "attempt ended": "between attempts"}[
        last["event"] if last else "submitted"
    ]
    seen = max(float(last["time"]) if last else run.record.created, run.beat or 0.0)
    problem = sighting.problem if sighting else ""
    told = problem if run.record.engine == "local" else f"Slurm did not answer{f' ({problem})' if problem else ''}"
    return Verdict(state=State.UNKNOWN, because=f"{told}; last known: {word}, {age(now - seen)} ago")


def _who(run: Run) -> str:
    return "this machine" if run.record.engine == "local" else "Slurm"


def age(seconds: float) -> str:
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{int(seconds // size)} {unit}"
    return f"{max(0, int(seconds))} s"


NOT_FOUND, NO_MARKER = "not found", "no marker"


def first_look(run: Run, event_name: str) -> float | None:
    """When such a first look was written down, since its job was last known to be there."""
    first = None
    for event in run.events:
        if event["event"] in ("submitted", "attempt started"):
            first = None
        elif event["event"] == event_name and first is None:
            first = float(event["time"])
    return first


def _looked_before(run: Run, event_name: str, now: float) -> bool:
    first = first_look(run, event_name)
    return first is not None and now - first >= SECOND_LOOK


def _absent(run: Run, now: float) -> Verdict:
    """In no answer. A fresh job may not be in the accounting yet, so one look is not enough."""
    if _looked_before(run, NOT_FOUND, now) and now - (run.beat or 0.0) > SILENT_SECONDS:
        return Verdict(
            state=State.LOST,
            because=f"job {run.job} is known to {_who(run)} no more, and it left no marker",
            hint="its log may tell more; submit it again if need be",
        )
    return Verdict(
        state=State.UNKNOWN,
        because=f"{_who(run)} does not list job {run.job}; it is looked for again in a minute",
        first_look=NOT_FOUND,
    )


RESUME = "`voy resume {run}` goes on from its newest checkpoint"


def _last_end(run: Run) -> str:
    """How the newest attempt said that it ended, if it wrote that down."""
    last = run.last("attempt ended", "attempt started", "resumed")
    return str(last.get("end")) if last and last["event"] == "attempt ended" else ""


def _more_may_follow(run: Run) -> bool:
    """Only such a run leaves an attempt that is over without a marker."""
    asked = any(key == "checkpoint.chain" or key.startswith("retry.") for key in run.record.spec)
    return asked or run.last("resumed", "successor submitted", LEFT_OUT) is not None


def _between_pieces(run: Run, now: float) -> Verdict | None:
    """A piece is over and left no final marker, because another was to follow; but none is there."""
    end = _last_end(run)
    if end not in ("stopped", "timeout", "failed", BAD_NODE) or not _more_may_follow(run):
        return None
    asked = run.last("cancel asked", "cancel failed", "stop asked", "stop failed", "resumed")
    if asked and asked["event"] == "cancel asked":
        return Verdict(state=State.CANCELLED, because=f"while it waited for attempt {run.attempt + 1}")
    if not _looked_before(run, NO_MARKER, now):
        return Verdict(state=State.PENDING, because="its next attempt is looked for", first_look=NO_MARKER)
    because = f"attempt {run.attempt} is over, and no further one is in the queue"
    state = State.FAILED if end == BAD_NODE else State(end)
    return Verdict(state=state, because=because, hint=RESUME.format(run=run.id))


def _stopped_while_it_waited(run: Run, row: JobRow) -> Verdict | None:
    asked = run.last("stop asked", "stop failed", "resumed", "cancel asked")
    if row.state != "CANCELLED" or not asked or asked["event"] != "stop asked":
        return None
    because = "asked to stop before its next attempt began"
    return Verdict(state=State.STOPPED, because=because, hint=RESUME.format(run=run.id))


def _completed(run: Run, now: float) -> Verdict:
    """Without a marker. A shared file system may show it late: some remember for a minute what was not there."""
    if _looked_before(run, NO_MARKER, now):
        return Verdict(
            state=State.SUSPECT,
            because=f"{_who(run)} says completed, but the run left no marker of its own",
            hint="look at its log before you trust its results",
        )
    return Verdict(
        state=State.ENDING,
        because=f"{_who(run)} says completed; its own marker is looked for again in a minute",
        first_look=NO_MARKER,
    )


def waiting(row: JobRow, attempt: int = 0) -> Verdict:
    """`attempt`: the newest so far; between the pieces of a long run people want to know which one waits."""
    if advice := stuck_advice(row.reason):
        return Verdict(state=State.STUCK, because=row.reason, hint=advice)
    expected = f"expected to start {row.expected_start.replace('T', ' ')}" if row.expected_start else ""
    reason = ", ".join(filter(None, [row.reason, expected]))
    return Verdict(state=State.PENDING, because=f"attempt {attempt + 1} waits: {reason}" if attempt else reason)


def _asked_meanwhile(run: Run, now: float) -> str:
    """Of one that does not listen the end may be long in coming."""
    words = {"stop asked": "save and end", "cancel asked": "end"}.get(_last_asked(run))
    asked = run.last("stop asked", "cancel asked")
    return f"; asked to {words} {age(now - float(asked['time']))} ago" if asked and words else ""


def _last_asked(run: Run) -> str:
    """What somebody has asked of it last that still counts."""
    asked = run.last("stop asked", "stop failed", "cancel asked", "cancel failed", "resumed")
    return str(asked["event"]) if asked else ""


def _by_row(run: Run, row: JobRow, steps: tuple[JobRow, ...], now: float) -> Verdict:
    if row.phase is Phase.WAITING:
        return waiting(row, run.attempt)
    if row.phase is Phase.RUNNING:
        silent = now - run.beat if run.beat else 0.0
        quiet = f"no sign of life for {age(silent)}" if silent > SILENT_SECONDS else row.node_list
        return Verdict(state=State.RUNNING, because=quiet + _asked_meanwhile(run, now))
    if row.phase is Phase.ENDING:
        return Verdict(state=State.ENDING, because=row.node_list)
    if row.phase is Phase.UNKNOWN:
        return Verdict(state=State.UNKNOWN, because=f"{_who(run)} says {row.state}, a state that is not known here")
    return _ended(run, row, steps, now)


_ENDED = {
    "CANCELLED": (State.CANCELLED, ""),
    "TIMEOUT": (State.TIMEOUT, "its time was up"),
    "DEADLINE": (State.TIMEOUT, "its deadline passed"),
    "OUT_OF_MEMORY": (State.FAILED, "it needed more memory than it had asked for"),
    "NODE_FAIL": (State.FAILED, "its node failed"),
    "BOOT_FAIL": (State.FAILED, "its node did not start"),
    "PREEMPTED": (State.FAILED, "it was preempted and not put back into the queue"),
    "REVOKED": (State.FAILED, "it was taken over by another cluster"),
}


def _ended(run: Run, row: JobRow, steps: tuple[JobRow, ...], now: float) -> Verdict:
    if stopped := _stopped_while_it_waited(run, row):
        return stopped
    if row.state in ("COMPLETED", "FAILED", "TIMEOUT") and (between := _between_pieces(run, now)):
        return between
    if any(step.state == "OUT_OF_MEMORY" for step in steps):
        row = JobRow(job=row.job, state="OUT_OF_MEMORY")
    if row.state == "COMPLETED":
        return _completed(run, now)
    state, words = _ENDED.get(row.state, (State.FAILED, ""))
    hint = _MORE_MEMORY if row.state == "OUT_OF_MEMORY" else _resume_hint(run, state)
    if (row.exit_code, row.signal) == (0, 53):
        words, hint = (
            f"{_who(run)} could not write the job's log, so the script never ran",
            "was the run's folder removed?",
        )
    if state is State.FAILED and not words:
        words = run.complaint()
    if state is State.FAILED and not words:
        known = row.exit_code or row.signal
        words = (
            exit_in_words(row.exit_code, row.signal)
            if known
            else f"it failed; {_who(run)} does not say with which exit code"
        )
    return Verdict(
        state=state,
        because=words,
        exit_code=row.exit_code or None,
        signal=row.signal or None,
        hint=hint,
    )
