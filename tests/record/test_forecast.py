"""How far a long run is, and when it may be done, from what its attempts have told."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.record.folders import make_run
from voyageur.record import Run, State, Verdict, load
from voyageur.record.attempts import forecast
from voyageur.show.timeline import progress_line, timeline, unit_of

NOW = time.time()
HOUR = 3600.0


def long_run(scratch: Path, *attempts: dict[str, object]) -> Run:
    """Each of a day and a warning of two minutes; `progress` as its supervisor has written it down."""
    run = make_run(scratch)
    for number, facts in enumerate(attempts, 1):
        run.note("attempt started", attempt=number, job="7", node="n1")
        if facts.get("end"):
            run.note("attempt ended", attempt=number, end=facts["end"], progress=facts["progress"])
    return replace(load(run.folder), record=replace(run.record, time_limit=86_400), attempt=len(attempts))


def test_the_rest_is_sized_from_what_the_first_piece_took(tmp_path: Path) -> None:
    progress = {"first": 1, "done": 30, "total": 90, "per_unit": 0.79 * HOUR, "begun": 600.0}
    run = long_run(tmp_path, {"end": "stopped", "progress": progress})
    found = forecast(run, NOW)
    assert found is not None
    assert found.attempts == 3  # 47.4 hours in pieces of 24 less twelve minutes
    assert found.ends == pytest.approx(NOW + 60 * 0.79 * HOUR + 2 * 600, abs=1)


def test_a_slow_start_and_the_warning_count(tmp_path: Path) -> None:
    progress = {"first": 1, "done": 30, "total": 90, "per_unit": 0.79 * HOUR, "begun": 3 * HOUR}
    found = forecast(long_run(tmp_path, {"end": "stopped", "progress": progress}), NOW)
    assert found is not None and found.attempts == 4


def test_what_was_done_twice_is_lost(tmp_path: Path) -> None:
    one = {"first": 1, "done": 30, "total": 90, "per_unit": 60.0, "step": 1}
    two = {"first": 28, "done": 60, "total": 90, "per_unit": 60.0, "step": 1}
    run = long_run(tmp_path, {"end": "interrupted", "progress": one}, {"end": "stopped", "progress": two})
    found = forecast(run, NOW)
    assert found is not None and found.lost == 3 and not found.lost_more


def test_what_nobody_saw_the_end_of_may_have_lost_more(tmp_path: Path) -> None:
    """Its last sign of life was at 30; what it did behind that, its checkpoint of 33 alone tells."""
    two = {"first": 34, "done": 60, "total": 90, "per_unit": 60.0, "step": 1}
    run = long_run(tmp_path, {}, {"end": "stopped", "progress": two})
    run.note("attempt superseded", attempt=1, progress={"first": 1, "done": 30, "total": 90, "step": 1})
    run = replace(load(run.folder), record=run.record, attempt=2)
    assert progress_line(run, Verdict(state=State.PENDING)).endswith(" · at least 0 lost so far")
    assert "last seen at 30, no end written" in timeline(run)


def test_the_line_on_a_runs_page(tmp_path: Path) -> None:
    progress = {"first": 1, "done": 37, "total": 90, "per_unit": 720.0, "step": 1}
    run = long_run(tmp_path, {"end": "stopped", "progress": progress}, {"end": "stopped", "progress": progress})
    spec = {"checkpoint.progress": {"value": r"epoch (\d+)/(\d+)"}}
    run = replace(run, record=replace(run.record, spec=spec))
    line = progress_line(run, Verdict(state=State.PENDING))
    assert line.startswith("attempt 2 of about 3 · epoch 37/90 · 12m/epoch · done about ")
    assert line.endswith(" · 37 epochs lost so far")
    assert progress_line(replace(run, record=replace(run.record, spec={})), Verdict(state=State.DONE)) == (
        "attempt 2 · 37/90 · 12m each · 37 lost"
    )


def test_where_only_checkpoints_tell_nothing_is_said_of_what_was_lost(tmp_path: Path) -> None:
    progress = {"first": 1, "done": 37, "per_unit": 720.0, "step": 1, "by": "checkpoints"}
    run = long_run(tmp_path, {"end": "interrupted", "progress": progress})
    assert progress_line(run, Verdict(state=State.PENDING)) == "attempt 1 · 37 · 12m each"


@pytest.mark.parametrize(
    ("pattern", "unit"),
    [
        (r"epoch (\d+)/(\d+)", "epoch"),
        (r"Steps:\s+(\d+)", "step"),
        (r"[Ee]poch (\d+)", ""),
        (r"(\d+)%", ""),
        ("", ""),
    ],
)
def test_what_a_pattern_counts(pattern: str, unit: str) -> None:
    assert unit_of(pattern) == unit


def test_the_line_of_time_says_of_each_attempt_how_it_ended(tmp_path: Path) -> None:
    progress = {"first": 1, "done": 37, "total": 90, "per_unit": 720.0, "step": 1}
    run = long_run(tmp_path, {"end": "stopped", "progress": progress}, {}, {})
    rows = timeline(run).splitlines()
    assert [row.rpartition(", ")[2] for row in rows[:3]] == ["stopped", "no end written", "goes on"]
    run.note("verdict", state="lost")
    assert timeline(load(run.folder)).splitlines()[2].endswith("no end written")
