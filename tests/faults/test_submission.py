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


def test_a_submission_that_never_arrived_is_said_to_be_unknown(simple: Place) -> None:
    """Nothing gets through: neither the job nor the question about it. Nothing is repeated blindly."""
    assert simple.bed
    simple.write("count.py", COUNT)
    simple.voy("plan", "--", "python", "count.py")
    blocked = {"SLURM_CONF": str(simple.bed.flaky_conf)}
    process = subprocess.Popen(
        [*VOY, "submit", "--", "python", "count.py"], cwd=simple.project, env={**simple.environment, **blocked},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    simple.until(lambda: list(simple.scratch.glob("*/hpc_outputs/*-*/run.json")) or None)
    simple.bed.proxy.arm(Fault.BLACKHOLE)
    output, errors = process.communicate(timeout=240)
    runs = json.loads(simple.voy("status", "--json").stdout)
    assert len(runs) == 1
    if process.returncode == 0:  # sbatch was quicker than the blackhole
        assert output.strip() == runs[0]["run"]
    else:
        assert "it is not known whether Slurm took" in errors and "do not submit it again" in errors
        assert runs[0]["state"] == "submitting"


def test_a_hung_controller_does_not_make_two_runs(production: Place) -> None:
    """slurmctld is stopped, sbatch gives up, slurmctld goes on and takes the job after all."""
    assert production.bed
    production.write("count.py", COUNT)
    production.environment["SLURM_CONF"] = str(production.bed.flaky_conf)
    process = subprocess.Popen(
        [*VOY, "submit", "--", "python", "count.py"], cwd=production.project, env=production.environment,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    production.until(lambda: list(production.scratch.glob("*/hpc_outputs/.*")) or None, 20)
    production.bed.controller.pause()
    time.sleep(6)
    production.bed.controller.resume()
    output, errors = process.communicate(timeout=240)
    assert process.returncode == 0, errors
    assert production.wait(output.strip())["state"] == "done"
    time.sleep(2)
    assert runs_counted(production) == 1


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
    # A controller that dies within five seconds of a submission forgets the job: it saves its state lazily.
    saved, begun = simple.bed.root / "state" / "job_state", time.time()
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
