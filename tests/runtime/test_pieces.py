"""What an attempt learns from those before it; how progress is read; which checkpoints may go."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from tests.runtime.test_claims import facts
from voyageur.job.checkpoint_files import numbers_in
from voyageur.runtime import resume, retention, story
from voyageur.runtime.folder import Duplicate, claim_attempt, submission_from
from voyageur.runtime.milestones import by_numbers
from voyageur.runtime.progress import Progress

AROUND = {"VOY_LATEST": "/c p/e 3.pt", "VOY_RESUME": "--load {latest} --strict"}


@pytest.mark.parametrize(
    ("command", "filled"),
    [
        (["train"], ["train", "--load", "/c p/e 3.pt", "--strict"]),
        (["train", "{resume}", "-x"], ["train", "--load", "/c p/e 3.pt", "--strict", "-x"]),
        (["sh", "-c", "train {resume}"], ["sh", "-c", "train --load '/c p/e 3.pt' --strict"]),
        (
            ["train", "--from={latest}", "{resume}"],
            ["train", "--from=/c p/e 3.pt", "--load", "/c p/e 3.pt", "--strict"],
        ),
        (["train", "{{latest}}", "{resume}"], ["train", "{latest}", "--load", "/c p/e 3.pt", "--strict"]),
    ],
)
def test_words_with_a_checkpoint(command: list[str], filled: list[str]) -> None:
    assert resume.fill(command, AROUND) == filled


def test_words_without_one() -> None:
    without = {**AROUND, "VOY_LATEST": ""}
    assert resume.fill(["train", "{resume}", "-x", "{latest}"], without) == ["train", "-x", ""]
    assert resume.fill(["train", "-x"], without) == ["train", "-x"]


# ── attempts ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def told(*ends: tuple[str, str, float | None]) -> list[dict[str, Any]]:
    """Events of attempts: how each ended, from which checkpoint it began, how far it came."""
    events: list[dict[str, Any]] = []
    for number, (end, name, done) in enumerate(ends, 1):
        events.append({"event": "attempt started", "attempt": number, "job": "7", "array": "5", "piece": number})
        if name:
            events.append({"event": "resumed from", "attempt": number, "name": name, "written": 1.0})
        if end:
            progress = {"done": done} if done is not None else {}
            events.append({"event": "attempt ended", "attempt": number, "end": end, "progress": progress})
    return events


MARK = resume.Mark("a.pt", 1.0)


@pytest.mark.parametrize(
    ("ends", "mark", "judged", "weight"),
    [
        ([("stopped", "a.pt", None)] * 3, MARK, True, 6),
        ([("stopped", "b.pt", None), ("stopped", "a.pt", None)], MARK, True, 2),
        ([("interrupted", "", None)] * 5, None, False, 5),
        ([("", "", None)] * 6, None, False, 6),
        ([("stopped", "", None)] * 9, None, False, 0),
        ([("stopped", "", 5.0), ("stopped", "", 9.0)], None, True, 2),
        ([("stopped", "", 5.0), ("stopped", "", 5.0)], None, True, 4),
        ([("interrupted", "", None), ("stopped", "a.pt", None)], MARK, True, 2),
        ([("failed", "a.pt", None)] * 9, MARK, True, 0),
    ],
)
def test_what_was_in_vain(ends: list[Any], mark: resume.Mark | None, judged: bool, weight: int) -> None:
    assert story.in_vain(story.attempts(told(*ends)), mark, judged) == weight


def test_a_resume_begins_a_new_count() -> None:
    events = [*told(("failed", "", None), ("failed", "", None)), {"event": "resumed"}]
    assert story.attempts(events) == []


def test_pieces_that_are_still_to_come() -> None:
    past = story.attempts(told(("stopped", "", None), ("interrupted", "", None), ("", "", None)))
    assert story.pieces_left(past, "5", 5, mine=3) == [2, 4, 5]
    assert story.pieces_left(past, "another", 2, mine=1) == [2]
    assert story.pieces_spent(past) == 2


# ── claims ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_next_piece_of_an_array_takes_over_at_once(tmp_path: Path) -> None:
    assert claim_attempt(str(tmp_path), facts("7", array="5")) == 1
    assert claim_attempt(str(tmp_path), facts("8", array="5")) == 2
    with pytest.raises(Duplicate):
        claim_attempt(str(tmp_path), facts("9", array="6"))


def test_a_job_that_starts_after_another_takes_over_and_one_of_an_older_submission_leaves(tmp_path: Path) -> None:
    claim_attempt(str(tmp_path), facts("7"))
    assert claim_attempt(str(tmp_path), facts("8", "s2:7")) == 2
    with pytest.raises(Duplicate):
        claim_attempt(str(tmp_path), facts("9", "s2:7"))
    with pytest.raises(Duplicate):
        claim_attempt(str(tmp_path), facts("10", "s1"))
    with pytest.raises(Duplicate):
        claim_attempt(str(tmp_path), facts("11", "s3"))  # after nobody, and attempt 2 is alive
    assert submission_from("s12:345") == (12, "345") and submission_from("by-hand") == (0, "")


# ── progress ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_progress_is_read_on_from_where_the_log_was(tmp_path: Path) -> None:
    log = tmp_path / "output.log"
    log.write_text("epoch 3/90\n")
    progress = Progress(str(log), r"epoch (\d+)/(\d+)")
    with open(log, "a") as file:
        file.write("0: epoch 4/90\n1: epoch 4/90\nsomething else\nepo")
    progress.read()
    assert progress.facts()["done"] == 4 and progress.facts()["total"] == 90
    with open(log, "a") as file:
        file.write("ch 5/90 \repoch 7/90\repoch 90/90")
    progress.read()
    assert (progress.done, progress.step, progress.is_complete) == (7, 1, False)
    progress.read(at_end=True)
    assert progress.is_complete and progress.facts()["first"] == 4


def test_a_pattern_that_finds_words_instead_of_numbers_is_no_progress(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("")
    progress = Progress(str(tmp_path / "log"), r"epoch (\w+)")
    (tmp_path / "log").write_text("epoch one\n")
    progress.read()
    assert progress.facts() == {}


@pytest.mark.parametrize(
    ("names", "told"),
    [
        ([("epoch-3.pt", 100.0), ("epoch-4.pt", 160.0), ("epoch-5.pt", 220.0)], (3, 5, 60.0)),
        ([("v2-epoch-0010-step-900.ckpt", 0.0), ("v2-epoch-0020-step-1800.ckpt", 600.0)], (10, 20, 60.0)),
        ([("epoch-3.pt", 100.0)], None),
        ([("last.pt", 100.0), ("best.pt", 160.0)], None),
        ([("epoch-3.pt", 100.0), ("epoch-3.pt", 160.0)], None),
    ],
)
def test_checkpoints_tell_how_far_it_is_where_the_log_does_not(names: list[Any], told: Any) -> None:
    found = by_numbers([(numbers_in(name), written) for name, written in names])
    assert ((found["first"], found["done"], found["per_unit"]) if found else None) == told


# ── retention ────────────────────────────────────────────────────────────────────────────────────────────────────────


def checkpoints(folder: Path, *names: str) -> float:
    now = time.time() - 1000
    for number, name in enumerate(names):
        (folder / name).write_text("{}")
        os.utime(folder / name, (now + number,) * 2)
    return now


def test_the_newest_stay_and_what_is_not_ours_as_well(tmp_path: Path) -> None:
    since = checkpoints(tmp_path, "old.json", "a.json", "b.json", "c.json", "d.json") + 0.5
    (tmp_path / "notes.txt").write_text("mine")
    assert retention.tidy(str(tmp_path), "*.json", 2, "run", since, began_from="a.json") == ["b.json"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.json", "c.json", "d.json", "notes.txt", "old.json"]


def test_nothing_goes_while_those_that_would_stay_are_damaged(tmp_path: Path) -> None:
    since = checkpoints(tmp_path, "a.json", "b.json", "c.json") - 1
    for name in ("b.json", "c.json"):
        written = (tmp_path / name).stat().st_mtime
        (tmp_path / name).write_text("{")
        os.utime(tmp_path / name, (written, written))
    assert retention.tidy(str(tmp_path), "*.json", 2, "run", since, "") == []


def test_without_a_pattern_only_what_was_published_goes(tmp_path: Path) -> None:
    since = checkpoints(tmp_path, "a.json", "b.json", "c.json") - 1
    assert retention.tidy(str(tmp_path), "", 1, "run", since, "") == []
