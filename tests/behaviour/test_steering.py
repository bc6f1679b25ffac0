"""Stop, resume, save now, more pieces: what people do with a run that takes long."""

from __future__ import annotations

import json
import time

import pytest

from tests import trainer
from tests.place import Place
from voyageur.runtime.folder import claim_attempt, read_json


def checkpoints(place: Place) -> list[str]:
    return sorted(path.name for path in place.scratch.glob("project/train/checkpoints/step-*"))


@pytest.mark.parametrize("cycles", [2])
def test_stop_and_resume_lose_nothing(place: Place, cycles: int) -> None:
    trainer.prepare(place, chain=4, warn="5s")
    run = place.submit("-t", "60s", *trainer.command(90))
    for cycle in range(1, cycles + 1):
        place.until_logged(run, f"step {25 * cycle}/")
        assert "voy resume" in place.voy("stop", run).stdout
        stopped = place.wait(run, code=1)
        assert (stopped["state"], stopped["attempt"]) == ("stopped", cycle), place.log(run)
        assert f"voy resume {run}" in stopped["hint"]
        place.voy("resume", run, "--time", "60s", "--pieces", "2")
    ended = place.wait(run, code=0)
    log = place.log(run)
    assert (ended["state"], ended["attempt"]) == ("done", cycles + 1)
    assert trainer.result(90) in log and trainer.lost(log) == 0, log
    assert "goes on from" in log


DEAF = trainer.SOURCE.replace("job.should_stop()", "False")


def test_a_program_that_does_not_listen_is_stopped_behind_its_next_checkpoint(place: Place) -> None:
    stop_a_deaf_one(place)


def test_behind_srun_as_well(production: Place) -> None:
    stop_a_deaf_one(production, "-n", "2", "-W", "per-node")


def stop_a_deaf_one(place: Place, *flags: str) -> None:
    trainer.prepare(place)
    place.write("train.py", DEAF)
    run = place.submit("-t", "10m", *flags, *trainer.command(100_000, every=20))
    place.until_logged(run, "step 3/")
    place.voy("stop", run)
    assert "asked to save and end" in place.status(run)["because"]
    stopped = place.wait(run, code=1)
    log = place.log(run)
    assert (stopped["state"], stopped["because"]) == ("stopped", "as `voy stop` asked"), log
    assert "it has saved, and is ended" in log and "step 20/" in log
    place.voy("resume", run)
    place.until_logged(run, "it goes on from step-", 60)
    place.voy("cancel", run)


def test_a_program_saves_when_it_is_asked_to_and_goes_on(local: Place) -> None:
    trainer.prepare(local)
    run = local.submit(*trainer.command(60, every=1000))
    local.until_logged(run, "step 5/")
    local.voy("checkpoint", run)
    local.until(lambda: len(checkpoints(local)) == 1, 10)
    assert local.wait(run, code=0)["state"] == "done"
    assert trainer.result(60) in local.log(run)
    assert "does not run" in local.voy("checkpoint", run, code=1).stderr


def test_what_cannot_be_resumed_says_why(local: Place) -> None:
    trainer.prepare(local)
    run = local.finish(*trainer.command(3))["run"]
    assert "is done" in local.voy("resume", run, code=1).stderr
    slow = local.submit(*trainer.command(100))
    local.until_logged(slow, "step 1/")
    assert "has not ended: running" in local.voy("resume", slow, code=1).stderr
    assert "--time is not right" in local.voy("resume", run, "--force", "--time", "soon", code=2).stderr
    local.voy("cancel", slow)
    assert local.wait(slow, code=1)["state"] == "cancelled"


@pytest.mark.parametrize("end", ["cancelled", "lost", "failed", "stopped", "timeout"])
def test_a_run_is_resumed_after_any_end(local: Place, end: str) -> None:
    """Cut off in the middle, with a marker that says how; `lost` has none, only our own last word on it."""
    trainer.prepare(local)
    run = local.submit(*trainer.command(40))
    local.until_logged(run, "step 12/")
    local.voy("cancel", run)
    assert local.wait(run, code=1)["state"] == "cancelled"
    if end != "cancelled":
        (local.folder(run) / "done.json").unlink()
        local.tell(run, "verdict", time.time(), state=end)
        assert local.status(run)["state"] == end
    local.voy("resume", run)
    assert local.wait(run, code=0)["state"] == "done"
    log = local.log(run)
    assert trainer.result(40) in log and 0 == trainer.begins(log)[0] < trainer.begins(log)[1] < 40, log


def test_a_failed_run_is_resumed_with_secrets_taken_anew(local: Place) -> None:
    local.write("voyageur.toml", 'env.secrets = ["MY_TOKEN"]\n')
    local.write("flaky.py", "import os, sys; print('token', os.environ['MY_TOKEN'])\n"
                            "sys.exit(os.environ['VOY_ATTEMPT'] == '1')")  # fmt: skip
    run = local.submit("--", "python", "flaky.py", MY_TOKEN="first")
    assert local.wait(run, code=1)["state"] == "failed"
    assert "MY_TOKEN is not set" in local.voy("resume", run, code=2).stderr
    local.voy("resume", run, MY_TOKEN="second")
    assert local.wait(run, code=0)["state"] == "done"
    assert "token second" in local.log(run)


def test_the_page_of_a_long_run_tells_how_far_it_is(local: Place) -> None:
    trainer.prepare(local, chain=5, warn="2s")
    run = local.submit("-t", "6s", *trainer.command(100))
    assert local.wait(run, code=0)["state"] == "done"
    page = local.voy("status", run, "--timeline").stdout
    attempts = local.status(run)["attempt"]
    assert f"attempt {attempts} · step 100/100 · 0.1s/step · 0 steps lost" in page
    rows = [line for line in page.splitlines() if "█" in line]
    assert len(rows) == attempts
    assert "from the beginning" in rows[0] and rows[0].endswith("stopped")
    assert "from step-" in rows[-1] and rows[-1].endswith("reached 100, done")


def test_extend_adds_pieces_that_start_after_all_others(simple: Place) -> None:
    trainer.prepare(simple, chain=2)
    run = simple.submit("-t", "60s", *trainer.command(400))
    simple.until_logged(run, "step 3/")
    assert "has 2 more pieces" in simple.voy("extend", run, "--pieces", "2").stdout
    assert simple.bed
    name = json.loads((simple.folder(run) / "run.json").read_text())["job_name"]
    listed = simple.bed.run(["squeue", "--noheader", f"--name={name}", "--format=%E", "--states=PD"]).stdout
    assert "afterany" in listed
    simple.voy("cancel", run)
    assert simple.wait(run, code=1)["state"] == "cancelled"
    simple.until(lambda: not simple.bed.run(["squeue", "--noheader", f"--name={name}"]).stdout.strip(), 20)  # type: ignore[union-attr]


def test_extend_on_this_machine(local: Place) -> None:
    """Of a run that is not cut."""
    trainer.prepare(local, warn="1s")
    run = local.submit("-t", "8s", *trainer.command(100))
    local.until_logged(run, "step 3/")
    assert "has 3 more pieces" in local.voy("extend", run, "--pieces", "3").stdout
    ended = local.wait(run, code=0)
    assert ended["state"] == "done" and ended["attempt"] > 1
    assert trainer.result(100) in local.log(run) and trainer.lost(local.log(run)) == 0


def test_a_run_that_was_not_cut_goes_on_in_the_piece_that_extend_added(simple: Place) -> None:
    trainer.prepare(simple)
    simple.write("voyageur.toml", f"requeue = false\n{(simple.project / 'voyageur.toml').read_text()}")
    run = simple.submit("-t", "10m", *trainer.command(60))
    simple.until_logged(run, "step 5/")
    simple.voy("extend", run)
    trainer.warn(simple, run)
    ended = simple.wait(run, code=0)
    assert (ended["state"], ended["attempt"]) == ("done", 2)
    assert trainer.result(60) in simple.log(run) and trainer.lost(simple.log(run)) == 0


def test_a_stale_attempt_that_ends_by_itself_ends_nothing_else(local: Place) -> None:
    """Another has begun while it computed. It has the work done, but the run is the other's now."""
    trainer.prepare(local, chain=3)
    local.write(
        "train.py",
        "import os, time\n"
        "print('waits', flush=True)\n"
        "while not os.path.exists(os.path.join(os.environ['VOY_RUN_DIR'], 'attempt-2.json')): time.sleep(0.002)\n",
    )
    run = local.submit("-t", "60s", *trainer.command(1))
    local.until_logged(run, "waits")
    folder = local.folder(run)
    facts = {"job": "99", "submission": "s2:1", "array": "", "node": "elsewhere", "pid": 1, "beat": time.time()}
    assert claim_attempt(str(folder), facts) == 2
    local.until_logged(run, "a newer attempt has taken over; this one ends", 20)
    told = [event for event in local.status(run)["events"] if event.get("attempt") == 1]
    assert not [event for event in told if event["event"] in ("attempt ended", "successor submitted")]
    assert not (folder / "done.json").exists()
    assert read_json(str(folder / "attempt-2.json")) == {**facts, "attempt": 2}
