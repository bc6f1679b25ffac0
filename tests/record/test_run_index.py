"""The index saves time and is never the truth: without it, or with a damaged one, the answer is the same."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.record.folders import add_attempt, add_marker, make_run
from voyageur.engines import Again, Sought
from voyageur.errors import RunError
from voyageur.record import Entry, Index, Run, Sighting
from voyageur.runs import Runs
from voyageur.slurm_text import JobRow


class Cluster:
    """An engine that knows what it is told to know, and counts how often it is asked."""

    def __init__(self) -> None:
        self.states: dict[str, str] = {}
        self.questions = 0
        self.answers = True

    def submit(self, run: Run) -> str:
        raise NotImplementedError

    def look(self, sought: Sequence[Sought]) -> dict[str, Sighting]:
        self.questions += 1
        return {one.key: self._sighting(one) for one in sought}

    def _sighting(self, one: Sought) -> Sighting:
        if not self.answers:
            return Sighting(answered=False, problem="Socket timed out")
        state = self.states.get(one.job or "none")
        return Sighting(answered=True, row=JobRow(job=one.job, state=state) if state else None)

    def submit_again(self, run: Run, again: Again) -> str:
        raise NotImplementedError

    def stop(self, run: Run) -> None:
        raise NotImplementedError

    def cancel(self, run: Run) -> None:
        raise NotImplementedError


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


@pytest.fixture
def runs(tmp_path: Path, cluster: Cluster) -> Runs:
    return Runs([tmp_path], Index(tmp_path / "state" / "runs.jsonl"), lambda name: cluster)


def some_runs(scratch: Path, cluster: Cluster) -> None:
    def run(number: int) -> Run:
        return make_run(scratch, token=f"{number}" * 12)

    add_marker(add_attempt(run(1), job="1"), token="1" * 12)
    add_marker(add_attempt(run(2), job="2"), "failed", token="2" * 12, exit_code=3)
    run(3).note("submitted", job="3")
    run(4).note("submitted", job="4")
    run(5).note("refused", reason="Invalid account")
    run(6)
    run(7).note("submitted", job="7")
    seen_before(run_folder=scratch / "weather/hpc_outputs/train-7777", event="no marker")
    cluster.states.update({"3": "PENDING", "4": "RUNNING", "7": "COMPLETED"})


def seen_before(run_folder: Path, event: str) -> None:
    """A first look, long enough ago for the second one to count."""
    with open(run_folder / "events.jsonl", "a") as file:
        file.write(json.dumps({"time": 0.0, "event": event}) + "\n")


EXPECTED = {
    "train-1111": "done",
    "train-2222": "failed",
    "train-3333": "pending",
    "train-4444": "running",
    "train-5555": "refused",
    "train-6666": "submitting",
    "train-7777": "suspect",
}


def states(runs: Runs) -> dict[str, str]:
    return {entry.run: entry.state for entry in runs.all()}


def test_with_without_and_with_a_damaged_index_the_answer_is_the_same(
    tmp_path: Path, runs: Runs, cluster: Cluster
) -> None:
    some_runs(tmp_path, cluster)
    file = runs.index.file
    assert states(runs) == EXPECTED
    assert states(runs) == EXPECTED
    whole = file.read_bytes()
    for damaged in (b"", whole[: len(whole) // 2], b"\0\xff{]\n" + whole, whole.replace(b"{", b"["), b"{}\n[]\n"):
        file.write_bytes(damaged)
        assert states(runs) == EXPECTED
    file.unlink()
    assert states(runs) == EXPECTED


def test_an_index_with_bytes_that_are_no_text_is_passed_over(tmp_path: Path, runs: Runs, cluster: Cluster) -> None:
    some_runs(tmp_path, cluster)
    states(runs)
    runs.index.file.write_bytes(runs.index.file.read_bytes().replace(b"train-1111", b"train-\xff111"))
    assert states(runs) == EXPECTED


def test_an_index_that_cannot_be_written_costs_nothing_but_time(tmp_path: Path, cluster: Cluster) -> None:
    (tmp_path / "state").write_text("a file where a folder should be")
    some_runs(tmp_path, cluster)
    assert states(Runs([tmp_path], Index(tmp_path / "state" / "runs.jsonl"), lambda name: cluster)) == EXPECTED


def test_one_question_is_asked_about_all_runs(tmp_path: Path, runs: Runs, cluster: Cluster) -> None:
    some_runs(tmp_path, cluster)
    states(runs)
    assert cluster.questions == 1


def test_a_failed_question_is_shown_as_unknown_and_forgotten_when_the_next_one_is_answered(
    tmp_path: Path, runs: Runs, cluster: Cluster
) -> None:
    some_runs(tmp_path, cluster)
    cluster.answers = False
    assert states(runs)["train-4444"] == "unknown"
    cluster.answers = True
    assert states(runs) == EXPECTED


def test_a_run_that_is_started_again_by_hand_is_running_with_and_without_the_index(
    tmp_path: Path, runs: Runs, cluster: Cluster
) -> None:
    run = add_marker(add_attempt(make_run(tmp_path), job="1"), "failed", exit_code=3)
    assert states(runs) == {"train-0123": "failed"}
    add_attempt(run, 2, job="9", submission="by-hand")
    cluster.states["9"] = "RUNNING"
    with_index = states(runs)
    runs.index.file.unlink()
    assert states(runs) == {"train-0123": "running"}
    assert with_index == {"train-0123": "running"}


def test_a_stuck_job_is_stuck_with_and_without_the_index(tmp_path: Path, cluster: Cluster) -> None:
    class Held(Cluster):
        def _sighting(self, one: Sought) -> Sighting:
            return Sighting(answered=True, row=JobRow(job=one.job, state="PENDING", reason="JobHeldUser"))

    runs = Runs([tmp_path], Index(tmp_path / "state" / "runs.jsonl"), lambda name: Held())
    make_run(tmp_path).note("submitted", job="3")
    assert [states(runs), states(runs)] == [{"train-0123": "stuck"}] * 2


def test_a_deleted_run_is_gone(tmp_path: Path, runs: Runs, cluster: Cluster) -> None:
    run = add_marker(add_attempt(make_run(tmp_path)))
    assert states(runs) == {run.id: "done"}
    shutil.rmtree(run.folder)
    assert states(runs) == {}


def test_one_damaged_run_does_not_hide_the_others(tmp_path: Path, runs: Runs, cluster: Cluster) -> None:
    some_runs(tmp_path, cluster)
    damaged = make_run(tmp_path, token="9" * 12)
    for content in (b"{", b'{"run": "\xff"}'):
        (damaged.folder / "run.json").write_bytes(content)
        assert {run: state for run, state in states(runs).items() if run != damaged.id} == EXPECTED


def test_runs_are_found_by_id_by_the_beginning_of_it_and_by_folder(tmp_path: Path, runs: Runs) -> None:
    run = make_run(tmp_path)
    for name in ("train-0123", "train-0", "weather/train-0123", str(run.folder)):
        assert runs.find(name).id == run.id
    with pytest.raises(RunError):
        runs.find("zebra")


def test_the_index_keeps_the_last_word(tmp_path: Path) -> None:
    index = Index(tmp_path / "a" / "runs.jsonl")
    first = Entry(
        folder="/x", run="r", job_name="j", project="p", site="s", engine="e", command="c", created=1.0, state="pending"
    )
    index.add([first])
    index.add([Entry(**{**{name: getattr(first, name) for name in first.__struct_fields__}, "state": "done"})])
    assert index.read()["/x"].state == "done"
    assert index.file.stat().st_mode & 0o077 == 0
