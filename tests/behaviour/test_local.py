"""What only the local engine has to answer for: keepers, terminals, this machine's own limits."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from pathlib import Path

from tests.place import VOY, Place


def spool(place: Place, run: str) -> dict[str, object]:
    job = place.status(run)["job"]
    return dict(json.loads((place.home / f".local/state/voyageur/local/{job}.json").read_text()))


def runs_still(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"  # dead, and not yet collected by its parent
    except FileNotFoundError:
        return False


def test_a_run_survives_its_terminal(local: Place) -> None:
    local.write("slow.py", "import time; print('begun', flush=True); time.sleep(3); print('finished')")
    process = subprocess.Popen([*VOY, "submit", "--", "python", "slow.py"], cwd=local.project, env=local.environment,
                               stdout=subprocess.PIPE, text=True, start_new_session=True)  # fmt: skip
    run = process.communicate()[0].strip()
    with contextlib.suppress(ProcessLookupError):  # nothing of the terminal's session need be left
        os.killpg(process.pid, signal.SIGHUP)
    assert local.wait(run, code=0)["state"] == "done"
    assert "finished" in local.log(run)


def test_an_interrupt_cancels_what_voy_run_waits_for(local: Place) -> None:
    local.write("slow.py", "import time; print('begun', flush=True); time.sleep(277)")
    process = subprocess.Popen(
        [*VOY, "run", "--", "python", "slow.py"],
        cwd=local.project,
        env=local.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's `make test &` ignores it
    )
    assert process.stdout
    while "begun" not in process.stdout.readline():
        pass
    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 130
    (entry,) = json.loads(local.voy("status", "--json").stdout)
    assert entry["state"] == "cancelled"
    assert local.node_folders() == []


def test_a_keeper_that_was_killed_is_noticed(local: Place) -> None:
    """Its run ends with it: nobody would be left to watch its time, and the user may submit it again."""
    local.write("slow.py", "import time; print('begun', flush=True); time.sleep(278)")
    run = local.submit("--", "python", "slow.py")
    local.until_logged(run, "begun")
    keeper = int(str(spool(local, run)["keeper"]))
    os.kill(keeper, signal.SIGKILL)
    local.until(lambda: local.status(run)["state"] == "failed", 20)
    local.until(lambda: local.node_folders() == [], 20)


def test_a_killed_supervisor_takes_its_program_along(local: Place) -> None:
    local.write("slow.py", "import os, time; print('pid', os.getpid(), 'begun', flush=True); time.sleep(279)")
    run = local.submit("--", "python", "slow.py")
    local.until_logged(run, "begun")
    program = int(local.log(run).split("pid ")[1].split()[0])
    os.kill(int(Path(f"/proc/{program}/stat").read_text().split()[3]), signal.SIGKILL)
    assert local.wait(run, code=1)["state"] == "failed"
    assert not runs_still(program)


def test_a_program_that_will_not_end_is_killed(local: Place) -> None:
    local.write(
        "deaf.py",
        "import signal, time\n"
        "for s in (signal.SIGTERM, signal.SIGUSR1): signal.signal(s, lambda *_: None)\n"
        "print('begun', flush=True)\n"
        "while True: time.sleep(1)\n",
    )
    run = local.submit("--", "python", "deaf.py")
    local.until_logged(run, "begun")
    begin = time.monotonic()
    local.voy("cancel", run)
    assert local.wait(run, code=1)["state"] == "cancelled"
    assert time.monotonic() - begin < 30
    assert local.node_folders() == []


def test_scripts_can_ask_for_host_names(local: Place) -> None:
    local.write(
        "hosts.sh",
        "scontrol show hostnames \"$SLURM_JOB_NODELIST\" | tr '\\n' ' '\n"
        "srun -n 2 -N 2 bash -c 'echo $SLURMD_NODENAME'\n",
    )
    run = local.submit(
        "-n", "2", "--launch", "per-node", "--", "bash", "-c", '[ "$SLURM_PROCID" = 1 ] || bash hosts.sh'
    )
    assert local.wait(run)["state"] == "done", local.log(run)
    assert "local1 local2" in local.log(run)


def test_a_project_venv_is_used(local: Place) -> None:
    """A virtual environment in the project is activated in the job, though it does not travel."""
    subprocess.run([VOY[0], "-m", "venv", "--without-pip", str(local.project / ".venv")], check=True)
    local.write("which.py", "import sys; print(sys.prefix)")
    del local.environment["VIRTUAL_ENV"]
    local.environment["PATH"] = os.pathsep.join(
        part for part in os.environ["PATH"].split(os.pathsep) if not Path(part, "activate").exists()
    )
    run = local.submit("--", "python", "which.py")
    local.wait(run)
    assert str(local.project / ".venv") in local.log(run)
