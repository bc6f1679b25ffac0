"""A run in a low partition is pushed out by a job of a high one, and comes back."""

from __future__ import annotations

from tests.place import Place


def test_a_run_that_saves_and_ends_well_when_it_is_preempted_comes_back(production: Place) -> None:
    """Slurm calls such a job completed; its work is not done."""
    assert production.bed
    production.write(
        "work.py",
        "import os, signal, sys, time\n"
        "signal.signal(signal.SIGUSR1, lambda *_: (print('saved', flush=True), sys.exit(0)))\n"
        "print('attempt', os.environ['VOY_ATTEMPT'], flush=True)\n"
        "time.sleep(300 if os.environ['VOY_ATTEMPT'] == '1' else 0)\n",
    )
    run = production.submit("-p", "lowg", "-c", "8", "-t", "3h", "--", "python", "work.py")
    production.until_logged(run, "attempt 1\n")
    job = production.status(run)["job"]
    pusher = production.bed.submit(["--partition=high", "--nodes=4", "--exclusive", "--wrap=sleep 3"])
    production.until_logged(run, "saved", 40)
    production.until(lambda: production.status(run)["state"] == "pending", 40)
    production.bed.wait_job(pusher)
    production.bed.start_now(job)
    ended = production.wait(run, code=0)
    assert ended["state"] == "done" and ended["attempt"] == 2
    assert production.node_folders() == []


def test_a_warning_while_the_profile_is_read_does_not_kill(production: Place) -> None:
    assert production.bed
    (production.home / ".bash_profile").write_text("touch ~/reading; sleep 4\n")
    production.write("ok.py", "print('worked')")
    run = production.submit("--", "python", "ok.py")
    production.until((production.home / "reading").exists, 30)
    production.bed.run(["scancel", "--batch", "--signal=USR1", production.status(run)["job"]])
    assert production.wait(run, code=0)["state"] == "done"


def test_a_preempted_run_comes_back(production: Place) -> None:
    assert production.bed
    production.write("work.py", "import os, time; print('attempt', os.environ['VOY_ATTEMPT'], flush=True)\n"
                                "time.sleep(300 if os.environ['VOY_ATTEMPT'] == '1' else 0)")  # fmt: skip
    run = production.submit("-p", "low", "-n", "4", "-c", "8", "--", "python", "work.py")
    production.until_logged(run, "attempt 1\n")
    job = production.status(run)["job"]
    pusher = production.bed.submit(["--partition=high", "--nodes=4", "--exclusive", "--wrap=sleep 3"])
    production.bed.wait_state(pusher, "RUNNING", 40)
    production.until(lambda: production.status(run)["state"] == "pending", 40)
    assert production.status(run)["final"] is False
    production.bed.wait_job(pusher)
    production.bed.start_now(job)
    ended = production.wait(run, code=0)
    assert ended["state"] == "done" and ended["attempt"] == 2
    assert production.log(run).count("attempt 1\n") == 4
