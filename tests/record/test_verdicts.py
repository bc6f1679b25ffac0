"""What became of a run. The table is total, and nothing but a verified marker says done."""

import time
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from tests.record.folders import add_attempt, add_marker, make_run
from voyageur.record import Run, Sighting, State, Verdict, judge, without_asking
from voyageur.record.verdict import exit_in_words, first_to_fail
from voyageur.runtime import folder as files
from voyageur.slurm_text import PHASE_OF, JobRow

ENDS = [None, "done", "failed", "cancelled", "timeout", "stopped", "eaten by a whale", "false seal", "older attempt"]
EVENTS: list[list[tuple[str, dict[str, object]]]] = [
    [],
    [("answer lost", {"reason": "Socket timed out"})],
    [("refused", {"reason": "Invalid account"})],
    [("submitted", {"job": "7"})],
    [("answer lost", {}), ("submitted", {"job": "7"})],
    [("submitted", {"job": "7"}), ("attempt started", {"job": "7", "attempt": 1})],
    [("submitted", {"job": "7"}), ("attempt started", {"job": "7"}), ("attempt ended", {"end": "interrupted"})],
    [("submitted", {"job": "7"}), ("not found", {"job": "7"})],
    [("submitted", {"job": "7"}), ("verdict", {"state": "failed", "because": "x", "exit_code": 3})],
    [("submitted", {"job": "7"}), ("verdict", {"state": "a word of tomorrow"})],
    [("submitted", {"job": "7"}), ("verdict", {"state": "failed"}), ("attempt started", {"job": "7"})],
]
SIGHTINGS = [
    None,
    Sighting(answered=False),
    Sighting(answered=False, problem="Unable to contact slurm controller"),
    Sighting(answered=True),
    *(Sighting(answered=True, row=JobRow(job="7", state=word)) for word in [*PHASE_OF, "FRIED", "UNKNOWN"]),
    Sighting(answered=True, row=JobRow(job="7", state="FAILED", exit_code=0, signal=53)),
    Sighting(answered=True, row=JobRow(job="7", state="FAILED", exit_code=137)),
    Sighting(answered=True, row=JobRow(job="7", state="PENDING", reason="JobHeldUser")),
    Sighting(
        answered=True,
        row=JobRow(job="7", state="COMPLETED"),
        steps=(JobRow(job="7", step="0", state="OUT_OF_MEMORY", signal=125),),
    ),
]


def prepared(scratch: Path, end: str | None, events: list[tuple[str, dict[str, object]]]) -> Run:
    run = make_run(scratch)
    for event, facts in events:
        run.note(event, **facts)
    if end == "false seal":
        run = add_marker(run, "done", token="f" * 12)
    elif end == "older attempt":
        run = add_marker(add_attempt(run, 2), "done", attempt=1)
    elif end:
        run = add_marker(run, end)
    return run.reread()


@pytest.mark.parametrize(("end", "events"), list(product(ENDS, EVENTS)))
def test_every_case_has_a_verdict_and_only_a_verified_marker_says_done(
    tmp_path: Path, end: str | None, events: list[tuple[str, dict[str, object]]]
) -> None:
    run = prepared(tmp_path, end, events)
    for sighting, later in product(SIGHTINGS, (0.0, 61.0, 1e6)):
        verdict = judge(run, sighting, now=run.record.created + later)
        assert isinstance(verdict.state, State)
        assert (verdict.state is State.DONE) == (end == "done")


def verdict(scratch: Path, sighting: Sighting | None, **row: object) -> Verdict:
    run = make_run(scratch)
    run.note("submitted", job="7")
    return judge(run.reread(), sighting)


def seen(state: str, **facts: object) -> Sighting:
    return Sighting(answered=True, row=JobRow(job="7", state=state, **facts))  # type: ignore[arg-type] # any of its fields


@pytest.mark.parametrize(
    ("sighting", "state", "because"),
    [
        (seen("PENDING", reason="Priority"), State.PENDING, "Priority"),
        (seen("PENDING", reason="JobHeldUser"), State.STUCK, "JobHeldUser"),
        (seen("PENDING", reason="PartitionTimeLimit"), State.STUCK, "PartitionTimeLimit"),
        (seen("REQUEUED"), State.PENDING, ""),
        (seen("RUNNING", node_list="n[1-2]"), State.RUNNING, "n[1-2]"),
        (seen("COMPLETING"), State.ENDING, ""),
        (
            seen("COMPLETED"),
            State.ENDING,
            "Slurm says completed; its own marker is looked for again in a minute",
        ),
        (seen("FAILED", exit_code=3), State.FAILED, "exit code 3"),
        (seen("FAILED", exit_code=127), State.FAILED, "exit code 127: a command was not found"),
        (seen("FAILED", signal=9), State.FAILED, "killed by force (SIGKILL)"),
        (seen("FAILED", signal=11), State.FAILED, "killed by a memory access error (SIGSEGV)"),
        (seen("FAILED", signal=53), State.FAILED, "Slurm could not write the job's log, so the script never ran"),
        (seen("OUT_OF_MEMORY", signal=125), State.FAILED, "it needed more memory than it had asked for"),
        (seen("NODE_FAIL"), State.FAILED, "its node failed"),
        (seen("PREEMPTED"), State.FAILED, "it was preempted and not put back into the queue"),
        (seen("TIMEOUT"), State.TIMEOUT, "its time was up"),
        (seen("CANCELLED"), State.CANCELLED, ""),
        (seen("FRIED"), State.UNKNOWN, "Slurm says FRIED, a state that is not known here"),
    ],
)
def test_what_slurm_says_in_the_words_that_users_read(
    tmp_path: Path, sighting: Sighting, state: State, because: str
) -> None:
    found = verdict(tmp_path, sighting)
    assert (found.state, found.because) == (state, because)


def test_a_failure_whose_exit_code_slurm_did_not_tell_is_not_shown_as_exit_code_0(tmp_path: Path) -> None:
    """squeue shows no exit code, and a cluster may have no accounting to ask for it."""
    found = verdict(tmp_path, seen("FAILED", reason="NonZeroExitCode"))
    assert found.state is State.FAILED
    assert "exit code 0" not in found.because


def test_what_the_script_found_wrong_is_the_reason(tmp_path: Path) -> None:
    """A node without the modules: no attempt begins, so no marker tells."""
    run = prepared(tmp_path, None, [("submitted", {"job": "7"})])
    run.log.write_text("Lmod says: gcc/99 is unknown\nvoyageur: these modules could not be loaded: gcc/99\n")
    sighting = Sighting(answered=True, row=JobRow(job="7", state="FAILED", exit_code=1))
    found = judge(run, sighting, now=0.0)
    assert (found.state, found.because) == (State.FAILED, "these modules could not be loaded: gcc/99")
    begun = add_attempt(run, 1)
    assert judge(begun, sighting, now=0.0).because == "exit code 1"


def test_a_failed_question_changes_nothing(tmp_path: Path) -> None:
    found = verdict(tmp_path, Sighting(answered=False, problem="Socket timed out"))
    assert found.state is State.UNKNOWN
    assert found.because == "Slurm did not answer (Socket timed out); last known: pending, 0 s ago"


def test_a_job_in_no_answer_is_lost_only_after_a_second_look_a_minute_later(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    run.note("submitted", job="7")
    absent = Sighting(answered=True)
    assert judge(run.reread(), absent).state is State.UNKNOWN
    run.note("not found", job="7")
    first = float(run.reread().events[-1]["time"])
    assert judge(run.reread(), absent, now=first + 30).state is State.UNKNOWN
    assert judge(run.reread(), absent, now=first + 61).state is State.LOST


def test_a_job_that_was_seen_again_after_it_was_not_found_starts_a_new_minute(tmp_path: Path) -> None:
    """A controller that lost sight of the job for a moment, an hour ago, is no first look of two."""
    run = make_run(tmp_path)
    run.note("submitted", job="7")
    run.note("not found", job="7")
    run.note("attempt started", job="7", attempt=1)
    started = float(run.reread().events[-1]["time"])
    assert judge(run.reread(), Sighting(answered=True), now=started + 3600).state is State.UNKNOWN


def test_a_job_whose_heart_beats_is_not_lost(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    run.note("submitted", job="7")
    run.note("not found", job="7")
    now = float(run.reread().events[-1]["time"]) + 1000
    run = add_attempt(run, beat=now - 10)
    assert judge(run, Sighting(answered=True), now=now).state is not State.LOST


def test_a_running_job_without_a_sign_of_life_says_so(tmp_path: Path) -> None:
    run = add_attempt(make_run(tmp_path), beat=1000.0)
    found = judge(run, seen("RUNNING", node_list="n1"), now=1000.0 + 600)
    assert (found.state, found.because) == (State.RUNNING, "no sign of life for 10 min")


def test_a_new_attempt_reopens_what_an_earlier_verdict_had_closed(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    run.note("submitted", job="7")
    run.note("verdict", state="failed", because="its node failed")
    assert without_asking(run.reread()) is not None
    run = add_attempt(run)
    assert without_asking(run) is None
    assert judge(run, seen("RUNNING")).state is State.RUNNING


def test_the_marker_of_a_killed_program_is_told_in_words(tmp_path: Path) -> None:
    run = add_marker(add_attempt(make_run(tmp_path)), "failed", exit_code=0, signal=9)
    found = judge(run, None)
    assert found.because == "killed by force (SIGKILL)"
    assert "memory" in found.hint
    assert files.read_marker(str(run.folder), run.record.token) is not None


def test_a_waiting_job_says_when_slurm_expects_it_to_start(tmp_path: Path) -> None:
    found = verdict(tmp_path, seen("PENDING", reason="Priority", expected_start="2026-11-17T04:00:00"))
    assert (found.state, found.because) == (State.PENDING, "Priority, expected to start 2026-11-17 04:00:00")


def test_a_second_look_makes_completed_without_a_marker_suspect(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    run.note("submitted", job="7")
    run.note("no marker", job="7")
    later = judge(run.reread(), seen("COMPLETED"), now=time.time() + 61)
    assert later.state is State.SUSPECT and "left no marker of its own" in later.because


def test_a_second_job_of_the_same_submission_says_nothing_about_the_run(tmp_path: Path) -> None:
    run = add_attempt(make_run(tmp_path), job="8")
    run.note("submitted", job="9")
    assert run.reread().job == "9"
    run.note("duplicate left", job="9")
    assert run.reread().job == "8"


@pytest.mark.parametrize(("code", "words"), [(255, "exit code 255"), (200, "exit code 200"), (139, "SIGSEGV")])
def test_only_codes_that_mean_a_signal_are_read_as_one(code: int, words: str) -> None:
    assert words in exit_in_words(code, 0)


def test_the_rank_that_failed_first_is_blamed_and_its_memory_told(tmp_path: Path) -> None:
    run = add_attempt(make_run(tmp_path))
    run.note("task failed", attempt=1, rank=3, node="n2", code=-9, oom_kills=1)
    run.note("task failed", attempt=1, rank=0, node="n1", code=1)
    found = judge(add_marker(run, "failed", exit_code=143), None)
    assert "rank 3 on n2: killed by force" in found.because and "want of memory" in found.because
    assert "--memory" in found.hint


def failed(rank: int | None, time: float, **more: object) -> dict[str, object]:
    facts = {"rank": rank} if rank is not None else {}
    return {"event": "task failed", "attempt": 1, "time": time, "node": f"n{rank}", "code": 1, **facts, **more}


@pytest.mark.parametrize(
    ("events", "node"),
    [
        ([failed(0, 5.0), failed(2, 6.0)], "n0"),
        ([failed(0, 5.0, ended=4.9), failed(2, 6.0, ended=4.5)], "n2"),
        ([failed(None, 5.0), failed(2, 6.0)], "n2"),
        ([failed(None, 5.0)], "nNone"),
        ([failed(3, 1.0, round=0), failed(1, 9.0, round=1), failed(0, 9.5, round=1)], "n1"),
    ],
)
def test_the_first_rank_that_failed_explains_a_failure(events: list[dict[str, object]], node: str) -> None:
    """Events are written down late on a busy file system; launchers fail after their workers; restarts forgive."""
    run = cast(Run, SimpleNamespace(events=tuple(events), attempt=1))
    first = first_to_fail(run)
    assert first is not None and first["node"] == node
