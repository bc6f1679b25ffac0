"""One local job, kept as slurmd would keep it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from voyageur.engines.local.jobs import LocalJob, Spool, old, started_at


@pytest.fixture
def spool(tmp_path: Path) -> Spool:
    return Spool(tmp_path / "spool")


def job(spool: Spool, tmp_path: Path, script: str, array: tuple[int, ...] = (), time_limit: int = 60) -> LocalJob:
    path = tmp_path / "job.sh"
    path.write_text(f"#!/bin/bash\n{script}\n")
    path.chmod(0o700)
    made = LocalJob(
        job=spool.new_id(),
        name="test-0123",
        folder=str(tmp_path),
        script=str(path),
        arguments=("s1",),
        nodes=2,
        tasks_per_node=1,
        cpus_per_task=1,
        time_limit=time_limit,
        warn=0,
        kill_wait=2,
        array=array,
        submitted=time.time(),
    )
    spool.write(made)
    return made


def kept(spool: Spool, made: LocalJob) -> LocalJob:
    """What the spool says after the keeper has ended."""
    keeper = [sys.executable, "-m", "voyageur.engines.local.keeper", str(spool.folder), made.job]
    subprocess.run(keeper, check=True, capture_output=True, timeout=60)
    ended = spool.read(made.job)
    assert ended is not None
    return ended


def test_an_array_runs_every_index(spool: Spool, tmp_path: Path) -> None:
    made = job(spool, tmp_path, 'echo "$SLURM_ARRAY_JOB_ID $SLURM_ARRAY_TASK_ID of $SLURM_ARRAY_TASK_COUNT"', (1, 3, 7))
    assert kept(spool, made).state == "COMPLETED"
    assert (tmp_path / "output.log").read_text().splitlines() == ["1 1 of 3", "1 3 of 3", "1 7 of 3"]


def test_one_bad_index_makes_the_array_fail_and_the_others_run(spool: Spool, tmp_path: Path) -> None:
    made = job(spool, tmp_path, 'echo "$SLURM_ARRAY_TASK_ID"; [ "$SLURM_ARRAY_TASK_ID" != 1 ] || exit 5', (0, 1, 2))
    ended = kept(spool, made)
    assert (ended.state, ended.exit_code) == ("FAILED", 5)
    assert (tmp_path / "output.log").read_text().split() == ["0", "1", "2"]


def test_every_index_has_the_whole_time(spool: Spool, tmp_path: Path) -> None:
    made = job(spool, tmp_path, "sleep 0.7; echo ended", (0, 1, 2), time_limit=1)
    assert kept(spool, made).state == "COMPLETED"
    assert (tmp_path / "output.log").read_text().split() == ["ended"] * 3


def test_what_a_job_left_running_ends_with_it(spool: Spool, tmp_path: Path) -> None:
    made = job(spool, tmp_path, "setsid sleep 300 & echo $!")
    assert kept(spool, made).state == "COMPLETED"
    assert started_at(int((tmp_path / "output.log").read_text())) == ""


def test_old_jobs_are_forgotten_but_not_one_that_runs(spool: Spool, tmp_path: Path) -> None:
    made = job(spool, tmp_path, "true")
    kept(spool, made)
    alive = spool.new_id()
    spool.write(replace(made, job=alive, keeper=os.getpid(), keeper_started=started_at(os.getpid())))
    for path in spool.folder.iterdir():
        os.utime(path, (0, 0))
    spool.forget_old(old())
    assert [path.stem for path in spool.folder.iterdir()] == [alive]
