"""What only the local engine has to answer for: keepers, terminals, this machine's own limits."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

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
    assert "told to stop" in [event["event"] for event in local.status(run)["events"]]


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
    """What is listed can be resolved; what a node is called in what people read stays `local1`."""
    local.write(
        "hosts.sh",
        "scontrol show hostnames \"$SLURM_JOB_NODELIST\" | tr '\\n' ' '\n"
        "for host in $(scontrol show hostnames); do getent ahosts $host >/dev/null && echo resolved $host; done\n"
        "srun -n 2 -N 2 bash -c 'echo $SLURMD_NODENAME'\n",
    )
    run = local.submit(
        "-n", "2", "--launch", "per-node", "--", "bash", "-c", '[ "$SLURM_PROCID" = 1 ] || bash hosts.sh'
    )
    assert local.wait(run)["state"] == "done", local.log(run)
    assert "127.0.0.1 127.0.0.2" in local.log(run)
    for line in ("resolved 127.0.0.1", "resolved 127.0.0.2", "0: local1", "0: local2"):
        assert line in local.log(run)


MEET = """
import os, socket, sys, time
rank, ranks, address = int(os.environ["SLURM_PROCID"]), int(os.environ["SLURM_NTASKS"]), os.environ["MASTER_ADDR"]
if rank == 0:
    with socket.create_server((address, int(sys.argv[1]))) as server:
        print("met", sorted(server.accept()[0].recv(9).decode() for _ in range(1, ranks)))
for _ in range(300 if rank else 0):
    try:
        socket.create_connection((address, int(sys.argv[1]))).sendall(str(rank).encode())
        break
    except ConnectionRefusedError:
        time.sleep(0.1)
"""


def test_ranks_meet_at_the_address_of_the_first_node(local: Place) -> None:
    """The idiom of every script that starts torchrun."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    local.write("meet.py", MEET)
    local.write(
        "meet.sh",
        f'export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)\npython meet.py {port}\n',
    )
    run = local.submit("-n", "3", "--launch", "per-node", "--", "bash", "meet.sh")
    assert local.wait(run)["state"] == "done", local.log(run)
    assert "0: met ['1', '2']" in local.log(run)


OTHER_CONTAINER = ["unshare", "--mount", "--pid", "--fork", "--mount-proc"]


def from_another_container(local: Place, *arguments: str) -> subprocess.CompletedProcess[str]:
    if subprocess.run([*OTHER_CONTAINER, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("no new namespaces can be made here")
    return subprocess.run(
        [*OTHER_CONTAINER, *VOY, *arguments], cwd=local.project, env=local.environment, timeout=100,
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_a_run_is_left_alone_by_those_who_cannot_see_it(local: Place) -> None:
    local.write("slow.py", "import time; print('begun', flush=True); time.sleep(287)")
    run = local.submit("--", "python", "slow.py")
    local.until_logged(run, "begun")
    there = json.loads(from_another_container(local, "status", "--json", run).stdout)
    assert there["state"] == "unknown"
    assert "it runs on" in there["because"] and "in another container" in there["because"]
    answer = from_another_container(local, "cancel", run)
    assert answer.returncode == 1
    assert f"error: {run} was not cancelled\n  it runs on" in answer.stderr
    assert local.status(run)["state"] == "running"
    local.voy("cancel", run)
    assert local.wait(run, code=1)["state"] == "cancelled"


def test_a_cancel_that_reaches_nobody_is_an_error(local: Place) -> None:
    local.write("slow.py", "import time; print('begun', flush=True); time.sleep(288)")
    run = local.submit("--", "python", "slow.py")
    local.until_logged(run, "begun")
    answer = local.voy("cancel", run, code=1, XDG_STATE_HOME=str(local.root / "other"))
    assert f"error: {run} was not cancelled\n  {local.root}/other/voyageur/local does not know it" in answer.stderr
    assert "hint: " in answer.stderr
    local.voy("cancel", run)
    assert local.wait(run, code=1)["state"] == "cancelled"


@pytest.mark.parametrize("verb", ["run", "submit"])
def test_a_state_folder_that_cannot_be_written_refuses_the_run(local: Place, verb: str) -> None:
    local.write("train.py", "")
    local.write("voyageur.toml", '[env]\nsecrets = ["KEY"]\n')
    answer = local.voy(verb, "--", "python", "train.py", code=1, XDG_STATE_HOME="/proc/x", KEY="hidden")
    assert "error: this machine cannot write down that it runs\n  [Errno 2]" in answer.stderr
    assert "hint: " in answer.stderr and "XDG_STATE_HOME" in answer.stderr
    (entry,) = json.loads(local.voy("status", "--json").stdout)
    assert entry["state"] == "refused"
    assert not (local.folder(entry["run"]) / "secrets.json").exists()


def meddle_with_keepers(local: Place, code: str) -> dict[str, str]:
    """Variables with which every keeper does something before anything else."""
    path = local.root / "meddling" / "sitecustomize.py"
    path.parent.mkdir()
    path.write_text(f"import os, sys, time\nif 'voyageur.engines.local.keeper' in sys.orig_argv:\n    {code}\n")
    return {"PYTHONPATH": str(path.parent)}


def test_a_keeper_that_cannot_start_is_noticed(local: Place) -> None:
    local.write("train.py", "")
    broken = meddle_with_keepers(local, "os.write(2, b'first\\nno such library\\n'); os._exit(1)")
    answer = local.voy("submit", "--", "python", "train.py", code=1, **broken)
    assert "error: this machine could not start the run\n  no such library\n" in answer.stderr
    (entry,) = json.loads(local.voy("status", "--json").stdout)
    assert entry["state"] == "refused"
    assert "no such library" in entry["because"]


def test_a_run_goes_on_when_whoever_submits_it_is_killed(local: Place) -> None:
    local.write("train.py", "print('ran')")
    slow = meddle_with_keepers(local, f"open('{local.root}/keeper-came', 'w'); time.sleep(2)")
    process = subprocess.Popen(
        [*VOY, "submit", "--", "python", "train.py"], cwd=local.project, env=local.environment | slow,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    local.until((local.root / "keeper-came").exists)
    process.kill()
    assert process.communicate()[0] == b""
    (run,) = (path.parent.name for path in local.scratch.glob("*/hpc_outputs/*/run.json"))
    assert local.wait(run, code=0)["state"] == "done"
    assert "ran" in local.log(run)


def test_a_run_does_not_depend_on_the_shell_that_submits_it(local: Place) -> None:
    """`nohup voy submit &` ignores signals that a program may count on."""
    local.write("x", "")
    script = """trap '' INT QUIT HUP TERM USR1 USR2 TSTP PIPE; exec "$@" submit -- grep SigIgn /proc/self/status"""
    process = subprocess.run(["bash", "-c", script, "bash", *VOY], cwd=local.project, env=local.environment,
                             capture_output=True, text=True, check=True)  # fmt: skip
    run = process.stdout.strip()
    assert local.wait(run, code=0)["state"] == "done"
    ignored = int(local.log(run).split("SigIgn:\t")[1].split()[0], 16)
    assert ignored & 0x7FFFFFFF == 0  # 32 and up are the C library's own, and no program can change them


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
