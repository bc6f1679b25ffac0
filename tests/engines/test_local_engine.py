"""What the local engine sees of its jobs and can do with them, here and from another place."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from voyageur.engines import Sought
from voyageur.engines.local import LocalEngine
from voyageur.engines.local.jobs import LocalJob
from voyageur.engines.local.place import Place, here, started_at
from voyageur.errors import ClusterError
from voyageur.record import Record, Run

FAR = Place(host="far", boot="another", processes="pid:[1]")
NAME = "test-0123"


@pytest.fixture
def engine(tmp_path: Path) -> LocalEngine:
    return LocalEngine(tmp_path / "spool")


@pytest.fixture
def run(tmp_path: Path) -> Run:
    folder = tmp_path / "run"
    folder.mkdir()
    record = Record(
        run="test", token="0123", job_name=NAME, project="p", project_root="/p", experiment="", site="local",
        engine="local", command=("true",), created=time.time(), time_limit=60, nodes=1, voyageur="0", spec={},
    )  # fmt: skip
    return Run(folder=folder, record=record, events=({"event": "submitted", "job": "1"},), marker=None)


def spooled(engine: LocalEngine, run: Run, **facts: Any) -> LocalJob:
    job = LocalJob(
        job=engine.spool.new_id(), name=NAME, folder=str(run.folder), script="", arguments=(), nodes=1,
        tasks_per_node=1, cpus_per_task=1, time_limit=60, warn=0, kill_wait=2, state="RUNNING", place=here(),
        keeper=os.getpid(), keeper_started=started_at(os.getpid()), submitted=time.time(),
    )  # fmt: skip
    job = replace(job, **facts)
    engine.spool.write(job)
    return job


def seen(engine: LocalEngine, run: Run, job: str = "1") -> str:
    """A state, `nothing`, or what stood in the way."""
    key = str(run.folder)
    sighting = engine.look([Sought(key=key, job=job, job_name=NAME, since=0.0)])[key]
    if not sighting.answered:
        return sighting.problem
    return sighting.row.state if sighting.row else "nothing"


def dead() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def beat(run: Run, ago: float) -> None:
    (run.folder / "attempt-1.json").write_text(f'{{"beat": {time.time() - ago}}}')


# ── look ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_living_keeper_is_a_running_job(engine: LocalEngine, run: Run) -> None:
    spooled(engine, run)
    assert seen(engine, run) == "RUNNING"


def test_a_dead_keeper_here_is_a_failed_node_at_once(engine: LocalEngine, run: Run) -> None:
    spooled(engine, run, keeper=dead())
    beat(run, ago=1)
    assert seen(engine, run) == "NODE_FAIL"


def test_a_young_job_without_a_keeper_is_waited_for(engine: LocalEngine, run: Run) -> None:
    job = spooled(engine, run, state="PENDING", keeper=0)
    assert seen(engine, run) == "PENDING"
    engine.spool.write(replace(job, submitted=time.time() - 31))
    assert seen(engine, run) == "BOOT_FAIL"


@pytest.mark.parametrize("state", ["PENDING", "RUNNING"])
def test_from_another_place_a_run_that_beats_is_left_alone(engine: LocalEngine, run: Run, state: str) -> None:
    spooled(engine, run, place=FAR, state=state, submitted=time.time() - 1000)
    beat(run, ago=170)
    assert seen(engine, run) == "it runs on far"
    beat(run, ago=190)
    assert seen(engine, run) == "NODE_FAIL"


def test_from_another_place_a_run_that_has_not_begun_is_waited_for(engine: LocalEngine, run: Run) -> None:
    spooled(engine, run, place=FAR)
    assert seen(engine, run) == "it runs on far"


def test_from_another_container_of_the_same_machine(engine: LocalEngine, run: Run) -> None:
    spooled(engine, run, place=replace(here(), processes="pid:[1]"))
    assert seen(engine, run) == f"it runs on {here().host}, in another container"


def test_a_machine_that_is_renamed_is_the_same_place(engine: LocalEngine, run: Run) -> None:
    spooled(engine, run, place=replace(here(), host="before"))
    assert seen(engine, run) == "RUNNING"


def test_what_has_ended_is_known_everywhere(engine: LocalEngine, run: Run) -> None:
    spooled(engine, run, place=FAR, state="COMPLETED")
    assert seen(engine, run) == "COMPLETED"


def test_a_job_without_a_known_number_is_found_by_its_name(engine: LocalEngine, run: Run) -> None:
    assert seen(engine, run, job="") == "nothing"
    spooled(engine, run)
    assert seen(engine, run, job="") == "RUNNING"


def test_another_job_of_the_same_number_is_not_ours(engine: LocalEngine, run: Run) -> None:
    spooled(engine, run, name="other-4567")
    assert seen(engine, run) == "nothing"


# ── cancel ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def why_not(engine: LocalEngine, run: Run) -> str:
    with pytest.raises(ClusterError) as error:
        engine.cancel(run)
    assert error.value.what == "test was not cancelled"
    assert error.value.hint
    return error.value.facts[0]


def test_a_run_elsewhere_cannot_be_cancelled_here(engine: LocalEngine, run: Run) -> None:
    spooled(engine, run, place=FAR, keeper=os.getpid())
    assert why_not(engine, run) == "it runs on far"


def test_a_run_that_this_state_folder_does_not_know_cannot_be_cancelled(engine: LocalEngine, run: Run) -> None:
    assert why_not(engine, run) == f"{engine.spool.folder} does not know it"


def test_a_job_of_the_same_number_is_not_cancelled_instead(engine: LocalEngine, run: Run) -> None:
    """Its keeper is this very process: it would not live to tell."""
    spooled(engine, run, name="other-4567")
    assert why_not(engine, run) == f"{engine.spool.folder} does not know it"


def test_a_run_whose_keeper_is_dead_cannot_be_cancelled(engine: LocalEngine, run: Run) -> None:
    spooled(engine, run, keeper=dead())
    assert why_not(engine, run) == "nobody watches it any more"


def test_what_has_ended_meanwhile_needs_no_cancel(engine: LocalEngine, run: Run) -> None:
    job = spooled(engine, run, state="COMPLETED", keeper=dead())
    engine.cancel(run)
    assert engine.spool.read(job.job) == job


def test_a_run_is_cancelled_by_its_name_when_its_number_is_not_known(engine: LocalEngine, run: Run) -> None:
    with subprocess.Popen(["sleep", "286"]) as keeper:
        spooled(engine, run, keeper=keeper.pid, keeper_started=started_at(keeper.pid))
        engine.cancel(replace(run, events=()))
        assert keeper.wait(20) == -15
