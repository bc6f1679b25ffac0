"""What is said of a run is true, however Slurm puts it."""

from __future__ import annotations

import json
import os
import time

from tests.place import Place
from tests.testbed import Fault
from tests.testbed.bed import NOBODY


def test_completed_without_a_marker_is_suspect(slurm: Place) -> None:
    slurm.write("ok.py", "print(1)")
    run = slurm.submit("--", "python", "ok.py")
    slurm.until(lambda: (slurm.folder(run) / "done.json").exists())
    marker = (slurm.folder(run) / "done.json").read_bytes()
    (slurm.folder(run) / "done.json").unlink()
    slurm.until(lambda: any(event["event"] == "no marker" for event in slurm.status(run)["events"]), 40)
    assert slurm.status(run)["state"] == "ending"
    (slurm.folder(run) / "done.json").write_bytes(marker)  # a slow file system shows it late
    assert slurm.status(run)["state"] == "done"
    (slurm.folder(run) / "done.json").unlink()
    slurm.forget_event(run, "no marker")
    slurm.tell(run, "no marker")
    assert slurm.status(run)["state"] == "suspect"


def test_a_marker_of_another_run_does_not_count(slurm: Place) -> None:
    slurm.write("ok.py", "print(1)")
    slurm.write("bad.py", "raise SystemExit(4)")
    good, bad = slurm.finish("--", "python", "ok.py")["run"], slurm.finish("--", "python", "bad.py")["run"]
    (slurm.folder(bad) / "done.json").write_bytes((slurm.folder(good) / "done.json").read_bytes())
    (slurm.home / ".local/state/voyageur/runs.jsonl").unlink()
    assert slurm.status(bad)["state"] == "failed"


def test_out_of_memory_is_told_with_what_to_do(production: Place) -> None:
    production.write("hog.py", "x = bytearray(10**6)\nwhile True: x += b'y' * 50_000_000")
    run = production.submit("--memory", "100M", "--", "python", "hog.py")
    ended = production.wait(run, code=1)
    assert ended["state"] == "failed"
    assert "want of memory" in ended["because"] and "--memory" in ended["hint"], ended


def test_memory_that_a_child_wanted_is_told(production: Place) -> None:
    production.write("hog.py", "x = bytearray(10**6)\nwhile True: x += b'y' * 50_000_000")
    production.write("parent.py", "import subprocess, sys; subprocess.run([sys.executable, 'hog.py']); sys.exit(1)")
    ended = production.finish("--memory", "100M", "--", "python", "parent.py")
    assert "exit code 1" in ended["because"] and "want of memory" in ended["because"]
    assert "--memory" in ended["hint"]


def test_a_cancel_that_did_not_arrive_is_no_cancel(simple: Place) -> None:
    assert simple.bed
    simple.write("slow.py", "import time; print('begun', flush=True); time.sleep(20)")
    run = simple.submit("--", "python", "slow.py")
    simple.until_logged(run, "begun")
    simple.bed.proxy.arm(Fault.BLACKHOLE)
    assert "Slurm did not cancel" in simple.voy("cancel", run, code=1, SLURM_CONF=str(simple.bed.flaky_conf)).stderr
    simple.bed.proxy.heal()
    assert simple.wait(run, code=0)["state"] == "done"
    assert "cancel failed" in [event["event"] for event in simple.status(run)["events"]]


def test_secrets_are_gone_after_a_cancel(slurm: Place) -> None:
    slurm.write("voyageur.toml", 'env.secrets = ["MY_TOKEN"]\n')
    slurm.write("slow.py", "import time; print('begun', flush=True); time.sleep(300)")
    run = slurm.submit("--", "python", "slow.py", MY_TOKEN="hush")
    slurm.until_logged(run, "begun")
    assert (slurm.folder(run) / "secrets.json").exists()
    assert slurm.bed
    slurm.bed.run(["scancel", slurm.status(run)["job"]])
    assert slurm.wait(run, code=1)["state"] == "cancelled"
    assert not (slurm.folder(run) / "secrets.json").exists()


def test_personal_settings_of_slurms_commands_mislead_nobody(simple: Place) -> None:
    simple.write("slow.py", "import time; print('begun', flush=True); time.sleep(300)")
    run = simple.submit("--", "python", "slow.py")
    simple.until_logged(run, "begun")
    simple.environment.update({"SQUEUE_PARTITION": "high", "SQUEUE_STATES": "PD", "SCANCEL_PARTITION": "high"})
    assert simple.status(run)["state"] == "running"
    simple.voy("cancel", run)
    assert simple.wait(run, code=1)["state"] == "cancelled"


def test_a_job_id_given_to_another_job_is_not_ours(slurm: Place) -> None:
    assert slurm.bed
    slurm.write("ok.py", "print(1)")
    run = slurm.finish("--", "python", "ok.py")["run"]
    other = slurm.bed.submit(["--wrap=sleep 100", "--job-name=other"])
    slurm.bed.wait_state(other, "RUNNING")
    folder = slurm.folder(run)
    (folder / "done.json").unlink()
    with open(folder / "events.jsonl", "a") as file:
        file.write(json.dumps({"time": time.time(), "event": "submitted", "job": other}) + "\n")
    (slurm.home / ".local/state/voyageur/runs.jsonl").unlink()
    assert slurm.status(run)["state"] == "unknown"
    slurm.voy("cancel", run, code=None)
    assert slurm.bed.job(other)["JobState"] == "RUNNING"


def test_hostile_names_in_the_queue_change_nothing(slurm: Place) -> None:
    assert slurm.bed
    slurm.write("long.py", "import time; time.sleep(100)")
    run = slurm.submit("--", "python", "long.py")
    slurm.until(lambda: slurm.status(run)["state"] == "running")
    job = slurm.status(run)["job"]
    names = [f"x\n{job}|COMPLETED|None|N/A|n1|{run}", "a|b|c|d|e|f|g", "$(touch z)", "\n", "'\"", "🙂"]
    for name in names:
        slurm.bed.submit(["--hold", f"--job-name={name}", "--wrap=true"])
    assert slurm.status(run)["state"] == "running"
    assert json.loads(slurm.voy("status", "--json").stdout)[0]["state"] == "running"


def test_a_held_job_is_stuck_with_the_way_out(slurm: Place) -> None:
    assert slurm.bed
    slurm.write("ok.py", "print(1)")
    slurm.fill()
    run = slurm.submit("--", "python", "ok.py")
    assert slurm.status(run)["state"] == "pending"
    slurm.bed.run(["scontrol", "uhold", slurm.status(run)["job"]])
    slurm.until(lambda: slurm.status(run)["state"] == "stuck")
    assert "scontrol release" in slurm.status(run)["hint"]
    slurm.voy("cancel", run)
    assert slurm.wait(run, code=1)["state"] == "cancelled"


def test_a_requeued_run_keeps_the_log_of_its_first_attempt(slurm: Place) -> None:
    assert slurm.bed
    slurm.write("twice.py", "import os, time; print('attempt', os.environ['VOY_ATTEMPT'], flush=True)\n"
                            "if os.environ['VOY_ATTEMPT'] == '1': time.sleep(100)")  # fmt: skip
    run = slurm.submit("--", "python", "twice.py")
    slurm.until_logged(run, "attempt 1\n")
    job = slurm.status(run)["job"]
    assert slurm.bed.run(["scontrol", "requeue", job]).returncode == 0
    slurm.until(lambda: slurm.status(run)["state"] == "pending")
    slurm.bed.start_now(job)
    ended = slurm.wait(run, code=0)
    assert ended["state"] == "done" and ended["attempt"] == 2
    assert "attempt 1\n" in slurm.log(run) and "attempt 2\n" in slurm.log(run)
    assert len(os.listdir(slurm.folder(run))) <= 10


def test_a_run_whose_folder_is_gone_does_not_run(slurm: Place) -> None:
    """Slurm cannot open the log then, and the script never starts."""
    assert slurm.bed
    slurm.write("touch.py", "import os; open(os.environ['scratch_dir'] + '/touched', 'w')")
    blocker = slurm.fill()
    run = slurm.submit("--", "python", "touch.py")
    job = slurm.status(run)["job"]
    slurm.folder(run).rename(slurm.root / "moved")
    slurm.bed.run(["scancel", blocker])
    slurm.bed.wait_job(job)
    assert not (slurm.scratch / "project" / "touched").exists()
    assert slurm.voy("status", run, code=1).stderr.startswith(f"error: there is no run `{run}`")
    (slurm.root / "moved").rename(slurm.scratch / "project" / "hpc_outputs" / run)
    assert slurm.wait(run, code=1)["state"] == "failed"


def test_accounting_down_changes_no_state(production: Place) -> None:
    assert production.bed
    production.write("ok.py", "print(1)")
    production.bed.accounting.kill()
    run = production.submit("--", "python", "ok.py")
    assert production.wait(run, code=0)["state"] == "done"
    (production.folder(run) / "done.json").unlink()
    (production.home / ".local/state/voyageur/runs.jsonl").unlink(missing_ok=True)
    assert production.status(run)["state"] in ("ending", "unknown")


def test_an_old_attempt_is_fenced_off(production: Place) -> None:
    """A node that is cut off goes on writing after its job was started elsewhere; it must notice and stop."""
    assert production.bed
    production.write(
        "write.py", "import os, time\nwhile True: print('by', os.environ['VOY_ATTEMPT'], flush=True); time.sleep(0.5)\n"
    )
    run = production.submit("--", "python", "write.py")
    production.until_logged(run, "by 1")
    node = next(event for event in production.status(run)["events"] if event["event"] == "attempt started")["node"]
    job = production.status(run)["job"]
    production.bed.node(node).kill()
    production.until(lambda: production.bed and production.bed.job(job).get("JobState") == "PENDING", 60)
    production.bed.start_now(job)
    production.until_logged(run, "by 2", 30)
    production.until(lambda: any(event["event"] == "fenced" for event in production.status(run)["events"]), 40)
    production.voy("cancel", run)


def test_another_user_can_read_nothing(production: Place) -> None:
    assert production.bed
    production.root.chmod(0o755)
    production.scratch.chmod(0o755)
    production.write("ok.py", "print('private')")
    run = production.finish("--", "python", "ok.py")["run"]
    for name in ("output.log", "run.json", "job.sh"):
        assert production.bed.run(["cat", str(production.folder(run) / name)], user=NOBODY).returncode != 0
    code = next(production.scratch.glob("*/hpc_outputs/.code/*.tar"))
    assert production.bed.run(["cat", str(code)], user=NOBODY).returncode != 0
