"""One attempt at a time: of two jobs of one submission, one works and the other leaves."""

import multiprocessing
import os
import time
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import pytest

from voyageur.runtime.folder import Duplicate, claim_attempt, newest_attempt, read_events


def facts(job: str, submission: str = "s1", **more: Any) -> dict[str, Any]:
    return {"job": job, "submission": submission, "node": "n1", "beat": time.time(), **more}


def claim_together(folder: str, job: str, barrier: Barrier, answers: "multiprocessing.Queue[tuple[str, int]]") -> None:
    barrier.wait()
    try:
        answers.put((job, claim_attempt(folder, facts(job))))
    except Duplicate:
        answers.put((job, 0))


@pytest.mark.parametrize("time_round", range(5))
def test_of_jobs_that_race_exactly_one_wins(tmp_path: Path, time_round: int) -> None:
    context = multiprocessing.get_context("fork")
    barrier, answers = context.Barrier(4), context.Queue()
    racers = [
        context.Process(target=claim_together, args=(str(tmp_path), str(job), barrier, answers)) for job in range(4)
    ]
    for racer in racers:
        racer.start()
    numbers = sorted(answers.get(timeout=20)[1] for _ in racers)
    for racer in racers:
        racer.join()
    assert numbers == [0, 0, 0, 1]
    assert [file.name for file in tmp_path.iterdir()] == ["attempt-1.json"]


def test_a_late_duplicate_leaves_even_after_the_first_has_ended(tmp_path: Path) -> None:
    assert claim_attempt(str(tmp_path), facts("7", ended=time.time(), beat=0.0)) == 1
    with pytest.raises(Duplicate, match="7 holds attempt 1"):
        claim_attempt(str(tmp_path), facts("8"))


def test_a_requeued_job_keeps_its_id_and_gets_the_next_number(tmp_path: Path) -> None:
    assert [claim_attempt(str(tmp_path), facts("7")) for _ in range(3)] == [1, 2, 3]
    newest = newest_attempt(str(tmp_path))
    assert newest is not None
    assert (newest.number, newest.facts["attempt"]) == (3, 3)
    assert [file.name for file in tmp_path.glob("attempt-*")] == ["attempt-3.json"]
    assert [event["attempt"] for event in read_events(str(tmp_path))] == [1, 2]


def test_a_duplicate_of_a_requeued_job_leaves_too(tmp_path: Path) -> None:
    claim_attempt(str(tmp_path), facts("7"))
    claim_attempt(str(tmp_path), facts("7"))
    with pytest.raises(Duplicate):
        claim_attempt(str(tmp_path), facts("8"))


def test_by_hand_a_run_starts_again_when_it_has_ended_or_fallen_silent(tmp_path: Path) -> None:
    claim_attempt(str(tmp_path), facts("7"))
    with pytest.raises(Duplicate):
        claim_attempt(str(tmp_path), facts("8", "by-hand"))
    ended = tmp_path / "ended"
    ended.mkdir()
    claim_attempt(str(ended), facts("7", ended=1.0))
    assert claim_attempt(str(ended), facts("8", "by-hand")) == 2
    silent = tmp_path / "silent"
    silent.mkdir()
    claim_attempt(str(silent), facts("7", beat=time.time() - 1000))
    assert claim_attempt(str(silent), facts("8", "by-hand")) == 2


def test_a_late_job_leaves_an_attempt_alone_that_was_started_by_hand_and_is_alive(tmp_path: Path) -> None:
    """sbatch's answer was lost, the user typed `sbatch job.sh`; then the lost job arrives after all."""
    claim_attempt(str(tmp_path), facts("8", "by-hand"))
    with pytest.raises(Duplicate):
        claim_attempt(str(tmp_path), facts("7", "s1"))


def test_a_claim_that_is_just_being_written_counts(tmp_path: Path) -> None:
    """On a file system without hard links the file is there for a moment before its content is."""
    (tmp_path / "attempt-1.json").write_bytes(b"")
    with pytest.raises(Duplicate):
        claim_attempt(str(tmp_path), facts("8"))


def test_without_hard_links_one_still_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any, **__: Any) -> None:
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refused)
    assert claim_attempt(str(tmp_path), facts("7")) == 1
    with pytest.raises(Duplicate):
        claim_attempt(str(tmp_path), facts("8"))
    assert [file.name for file in tmp_path.iterdir()] == ["attempt-1.json"]
