"""One local job, kept as slurmd would keep it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from voyageur.engines.local.jobs import LocalJob, Spool, old
from voyageur.engines.local.place import Place, here, started_at


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


def start(spool: Spool, made: LocalJob, **how: Any) -> subprocess.Popen[bytes]:
    argv = [sys.executable, "-m", "voyageur.engines.local.keeper", str(spool.folder), made.job]
    return subprocess.Popen(argv, stdin=subprocess.DEVNULL, **how)


def kept(spool: Spool, made: LocalJob) -> LocalJob:
    """What the spool says after the keeper has ended."""
    with start(spool, made, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as keeper:
        assert keeper.wait(60) == 0
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
    assert [path.stem for path in spool.folder.glob("*.json")] == [alive]


def test_a_run_of_another_machine_is_not_forgotten_while_it_beats(spool: Spool, tmp_path: Path) -> None:
    elsewhere = Place(host="far", boot="another", processes="pid:[1]")
    made = replace(job(spool, tmp_path, "true"), state="RUNNING", keeper=1, place=elsewhere, submitted=0.0)
    spool.write(made)
    (tmp_path / "attempt-1.json").write_text(f'{{"beat": {time.time()}}}')
    spool.forget_old(time.time() + 60)
    assert spool.read(made.job) is not None
    (tmp_path / "attempt-1.json").write_text('{"beat": 1.0}')
    spool.forget_old(time.time() + 60)
    assert spool.read(made.job) is None


def test_a_keeper_writes_down_where_it_is(spool: Spool, tmp_path: Path) -> None:
    assert kept(spool, job(spool, tmp_path, "true")).place == here()


def test_a_run_goes_on_when_whoever_submitted_it_is_gone(spool: Spool, tmp_path: Path) -> None:
    made = job(spool, tmp_path, "sleep 0.2; echo ran")
    with start(spool, made, stdout=subprocess.PIPE) as keeper:
        assert keeper.stdout
        keeper.stdout.close()
        assert keeper.wait(60) == 0
    ended = spool.read(made.job)
    assert ended and ended.state == "COMPLETED"
    assert (tmp_path / "output.log").read_text() == "ran\n"


def test_a_keeper_that_is_ready_holds_nothing_of_its_caller(spool: Spool, tmp_path: Path) -> None:
    with start(spool, job(spool, tmp_path, "sleep 283"), stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as keeper:
        assert keeper.stdout
        assert keeper.stdout.read() == b"ready\n"  # to the end of the pipe
        assert keeper.poll() is None
        keeper.terminate()


def test_a_job_has_the_usual_signals_whoever_submitted_it(spool: Spool, tmp_path: Path) -> None:
    """`nohup voy submit &` ignores some of them, and a program may have blocked others."""
    made = job(spool, tmp_path, "grep -E 'Sig(Ign|Blk)' /proc/self/status")
    signals = (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2,
               signal.SIGPIPE, signal.SIGTSTP, signal.SIGALRM, signal.SIGTTOU)  # fmt: skip

    def ignore() -> None:
        for signum in signals:
            signal.signal(signum, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, signals)

    with start(spool, made, preexec_fn=ignore, stdout=subprocess.PIPE, restore_signals=False) as keeper:
        assert keeper.wait(60) == 0
    found = dict(line.split(":\t") for line in (tmp_path / "output.log").read_text().splitlines())
    own = 0x7FFFFFFF  # 32 and up are the C library's, and no program can change them
    assert {name: int(mask, 16) & own for name, mask in found.items()} == {"SigBlk": 0, "SigIgn": 0}


def test_a_keeper_with_blocked_signals_can_be_cancelled(spool: Spool, tmp_path: Path) -> None:
    made = job(spool, tmp_path, "exec sleep 284")
    block = {signal.SIGTERM, signal.SIGCHLD}
    with start(
        spool, made, preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_BLOCK, block), stdout=subprocess.PIPE
    ) as keeper:
        assert keeper.stdout and keeper.stdout.readline() == b"ready\n"
        keeper.terminate()
        assert keeper.wait(20) == 0
    ended = spool.read(made.job)
    assert ended and ended.state == "CANCELLED"


def test_a_script_that_cannot_start_is_a_failure_and_says_why(spool: Spool, tmp_path: Path) -> None:
    made = job(spool, tmp_path, "true")
    Path(made.script).chmod(0o600)
    ended = kept(spool, made)
    assert (ended.state, ended.exit_code) == ("FAILED", 126)
    assert "the script cannot be started" in (tmp_path / "output.log").read_text()


def test_nothing_is_left_in_tmp_by_a_keeper(spool: Spool, tmp_path: Path) -> None:
    made = job(spool, tmp_path, 'echo "$VOY_LOCAL_TOOLS"; exec sleep 285')
    before = set(Path("/tmp").glob("voy-tools-*"))
    with start(spool, made, stdout=subprocess.PIPE) as keeper:
        assert keeper.stdout and keeper.stdout.readline() == b"ready\n"
        keeper.kill()
    assert set(Path("/tmp").glob("voy-tools-*")) == before
    assert [path.name for path in spool.folder.glob("tools-*/*")] != []
