"""One submit, at most one effective execution, whatever happens to sbatch's answer."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from typing import Any

import pytest

from tests.place import VOY, Place
from tests.testbed import Fault

COUNT = "import os, time; open(os.environ['scratch_dir'] + '/counted.txt', 'a').write('ran '); time.sleep(1)"


def runs_counted(place: Place) -> int:
    counted = place.scratch / "project" / "counted.txt"
    return len(counted.read_text().split()) if counted.exists() else 0


def events(run: dict[str, Any]) -> list[str]:
    return [event["event"] for event in run["events"]]


@pytest.mark.parametrize("fault", [Fault.LOSE_REPLY, Fault.CUT_REPLY])
def test_a_lost_answer_is_looked_up(slurm: Place, fault: Fault) -> None:
    assert slurm.bed
    slurm.write("count.py", COUNT)
    slurm.environment["SLURM_CONF"] = str(slurm.bed.flaky_conf)
    slurm.bed.proxy.arm(fault)
    run = slurm.submit("--", "python", "count.py")
    ended = slurm.wait(run, code=0)
    assert "answer lost" in events(ended) and runs_counted(slurm) == 1
    assert len(slurm.bed.run(["squeue", "-h", "--states=all", "-o", "%A %j"]).stdout.split(run[:10])) == 2


def test_a_submission_of_which_nobody_can_say_anything_is_unknown(simple: Place) -> None:
    """Nothing gets through: neither the job nor the question about it. Nothing is repeated blindly."""
    assert simple.bed
    simple.write("count.py", COUNT)
    simple.environment["SLURM_CONF"] = str(simple.bed.flaky_conf)
    go = simple.hold("sbatch")
    process = simple.start("submit", "--", "python", "count.py")
    simple.until(lambda: simple.held("sbatch"), 20)
    simple.bed.proxy.arm(Fault.BLACKHOLE)
    go.touch()
    output, errors = process.communicate(timeout=240)
    assert process.returncode == 1 and output == ""
    assert "it is not known whether Slurm took" in errors and "do not submit it again" in errors
    simple.bed.proxy.heal()
    (entry,) = json.loads(simple.voy("status", "--json").stdout)
    assert entry["state"] == "submitting"
    simple.tell(entry["run"], "answer lost")
    assert runs_counted(simple) == 0


def test_a_hung_controller_does_not_make_two_runs(production: Place) -> None:
    """slurmctld is stopped, sbatch gives up, slurmctld goes on and takes the job after all."""
    assert production.bed
    production.write("count.py", COUNT)
    production.environment["SLURM_CONF"] = str(production.bed.flaky_conf)
    go = production.hold("sbatch")
    process = production.start("submit", "--", "python", "count.py")
    production.until(lambda: production.held("sbatch"), 20)
    production.bed.controller.pause()
    go.touch()
    record = next(production.scratch.glob("*/hpc_outputs/*/run.json")).parent
    production.until(lambda: "answer lost" in (record / "events.jsonl").read_text(), 60)
    production.bed.controller.resume()
    output, errors = process.communicate(timeout=240)
    assert process.returncode == 0, errors
    ended = production.wait(output.strip())
    assert ended["state"] == "done" and "answer lost" in events(ended)
    time.sleep(2)
    assert runs_counted(production) == 1


def test_a_cancel_reaches_both_jobs_of_a_submission_that_was_taken_twice(slurm: Place) -> None:
    assert slurm.bed
    slurm.write("count.py", COUNT)
    blocker = slurm.fill()
    run = slurm.submit("--", "python", "count.py")
    second = slurm.bed.submit([str(slurm.folder(run) / "job.sh"), "s1"], HOME=str(slurm.home))
    slurm.voy("cancel", run)
    slurm.bed.run(["scancel", blocker])
    assert slurm.wait(run, code=1)["state"] == "cancelled"
    assert slurm.bed.wait_job(second)["JobState"] == "CANCELLED"
    assert runs_counted(slurm) == 0


def test_a_job_that_comes_after_its_cancel_does_nothing(simple: Place) -> None:
    """As a request that sat in a hung controller's socket while the user gave up."""
    assert simple.bed
    simple.write("count.py", COUNT)
    blocker = simple.fill()
    run = simple.submit("--", "python", "count.py")
    simple.tell(run, "cancel asked", time=time.time())
    simple.bed.run(["scancel", blocker])
    assert simple.wait(run, code=1)["state"] == "cancelled"
    assert runs_counted(simple) == 0


def test_a_job_that_comes_after_the_user_was_told_no_does_nothing(simple: Place) -> None:
    assert simple.bed
    simple.write("count.py", COUNT)
    blocker = simple.fill()
    run = simple.submit("--", "python", "count.py")
    job = simple.status(run)["job"]
    simple.forget_event(run, "submitted")
    simple.tell(run, "refused", time=time.time(), reason="it never arrived: nothing was submitted")
    simple.bed.run(["scancel", blocker])
    simple.bed.wait_job(job)
    assert simple.status(run)["state"] == "refused" and runs_counted(simple) == 0


def test_many_lost_answers_are_looked_up_with_one_question(simple: Place) -> None:
    simple.write("ok.py", "print(1)")
    lost = [simple.submit("--", "python", "ok.py") for _ in range(4)]
    for run in lost:
        marker = simple.folder(run) / "done.json"
        simple.until(marker.exists)
        marker.unlink()
        for event in ("submitted", "attempt started", "attempt ended"):
            simple.forget_event(run, event)
    (simple.home / ".local/state/voyageur/runs.jsonl").unlink()
    for command in ("squeue", "sacct"):
        go = simple.hold(command)
        go.touch()
        tool = simple.root / "tools" / command
        tool.write_text(tool.read_text().replace("touch ", f"echo asked >> {simple.root}/{command}-asked; touch "))
    simple.voy("status")
    assert (simple.root / "squeue-asked").read_text().count("asked") == 1
    asked = simple.root / "sacct-asked"
    assert not asked.exists() or asked.read_text().count("asked") == 1


def test_a_killed_client_loses_nothing(production: Place) -> None:
    assert production.bed
    production.write("count.py", COUNT)
    production.voy("plan", "--", "python", "count.py")
    process = subprocess.Popen(
        [*VOY, "submit", "--", "python", "count.py"], cwd=production.project, env=production.environment,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    record = production.until(lambda: list(production.scratch.glob("*/hpc_outputs/*-*/run.json")), 20)[0]
    folder = record.parent
    production.until(
        lambda: (
            production.bed
            and json.loads(record.read_text())["job_name"]
            in production.bed.run(["squeue", "-h", "--states=all", "-o", "%j"]).stdout
        ),
        20,
    )
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    lines = [line for line in (folder / "events.jsonl").read_text().splitlines() if '"submitted"' not in line]
    (folder / "events.jsonl").write_text("\n".join(lines) + "\n")  # had it been killed a moment earlier
    ended = production.wait(folder.name, code=0)
    assert ended["state"] == "done" and runs_counted(production) == 1


def test_a_late_duplicate_leaves_at_once(slurm: Place) -> None:
    assert slurm.bed
    slurm.write("count.py", COUNT)
    run = slurm.submit("--", "python", "count.py")
    script = slurm.folder(run) / "job.sh"
    job = slurm.bed.submit([str(script), "s1"], HOME=str(slurm.home))
    assert slurm.wait(run, code=0)["state"] == "done"
    slurm.bed.wait_job(job)
    assert runs_counted(slurm) == 1
    ended = slurm.status(run)
    assert ended["state"] == "done" and "duplicate left" in events(ended)


def test_a_controller_that_is_down_is_said_so(simple: Place) -> None:
    assert simple.bed
    simple.write("ok.py", "print(1)")
    done = simple.finish("--", "python", "ok.py")
    waiting = simple.submit("--", "python", "-c", "import time; time.sleep(600)")
    simple.until(lambda: simple.status(waiting)["state"] == "running")
    # A controller that dies within five seconds of a submission forgets the job: it saves its state lazily, and only
    # when something has changed.
    saved, begun = simple.bed.root / "state" / "job_state", time.time()
    simple.bed.run(["scontrol", "update", f"JobId={simple.status(waiting)['job']}", "Comment=changed"])
    simple.until(lambda: saved.stat().st_mtime > begun)
    simple.bed.controller.kill()
    refused = simple.voy("submit", "--", "python", "ok.py", code=1)
    assert "Slurm does not answer" in refused.stderr and "hint:" in refused.stderr
    states = {entry["run"]: entry for entry in json.loads(simple.voy("status", "--json").stdout)}
    assert states[done["run"]]["state"] == "done"
    assert states[waiting]["state"] == "unknown" and "last known: running" in states[waiting]["because"]
    simple.bed.controller.start()
    simple.bed.controller.wait_ready()
    simple.until(lambda: simple.status(waiting)["state"] == "running")


def test_slurm_says_no(slurm: Place) -> None:
    slurm.write("ok.py", "print(1)")
    answer = slurm.voy("submit", "--qos", "nonesuch", "--constraint", "nonesuch", "--", "python", "ok.py", code=None)
    if slurm.bed and slurm.bed.kind == "P":
        assert answer.returncode == 1
        assert "error: Slurm refused this job" in answer.stderr and "(kept)" in answer.stderr
        assert json.loads(slurm.voy("status", "--json").stdout)[0]["state"] == "refused"
    else:
        assert answer.returncode == 1, "a feature that no node has is refused on any Slurm"


def test_submitting_from_inside_a_job(slurm: Place) -> None:
    """The inner job must not obey the outer one's settings."""
    slurm.write("inner.py", "import os; print('inner', os.environ['SLURM_NTASKS'], os.environ['SLURM_JOB_NUM_NODES'])")
    slurm.write(
        "outer.sh", "python -c 'from voyageur.cli import main; main()' submit -n 1 --tasks 1 -- python inner.py\n"
    )
    outer = slurm.submit("-n", "2", "--tasks", "2", "-c", "2", "--launch", "per-rank", "--", "bash", "-c",
                         '[ "$SLURM_PROCID" = 0 ] || exit 0; exec bash outer.sh')  # fmt: skip
    assert slurm.wait(outer)["state"] == "done", slurm.log(outer)
    inner = slurm.log(outer).strip().splitlines()[-1].split()[-1]
    ended = slurm.wait(inner)
    assert ended["state"] == "done", slurm.log(inner)
    assert "inner 1 1" in slurm.log(inner)


def test_a_script_for_one_cluster_is_not_given_to_another(simple: Place) -> None:
    simple.write("ok.py", "print(1)")
    answer = simple.voy("submit", "--on", "narval", "--account", "def-ada", "--", "python", "ok.py", code=2)
    assert "not to narval" in answer.stderr and "narval.alliancecan.ca" in answer.stderr
    assert not list(simple.scratch.glob("*/hpc_outputs/*"))


def test_a_script_run_again_by_hand_says_that_its_secrets_are_gone(simple: Place) -> None:
    assert simple.bed
    simple.write("voyageur.toml", 'env.secrets = ["MY_TOKEN"]\n')
    simple.write("ok.py", "import os; print('token', os.environ.get('MY_TOKEN'))")
    run = simple.submit("--", "python", "ok.py", MY_TOKEN="hush")
    simple.wait(run, code=0)
    simple.bed.submit([str(simple.folder(run) / "job.sh")])
    assert "the secrets MY_TOKEN were removed" in simple.until_logged(run, "token None")
