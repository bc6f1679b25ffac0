"""The ground that other tests stand on: what each kind of bed promises, tried on it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.testbed import Bed, Fault, start_bed
from tests.testbed.bed import NOBODY
from tests.testbed.polling import poll_until
from tests.testbed.processes import alive, all_processes, send

pytest_plugins = ["tests.testbed.fixtures"]

TOP = Path(__file__).parents[2]
# tail keeps the last lines in memory, and this has only one.
# Not Python: its venv may be in /tmp, which nodes do not share.
EAT_MEMORY = "head -c 200000000 /dev/zero | tail >/dev/null"


def output(
    bed: Bed, arguments: list[str], command: str, user: int | None = None, deadline: float = 30
) -> tuple[str, str]:
    """State and printed text of a job that runs `command`."""
    folder = bed.shared / "results"
    folder.mkdir(exist_ok=True)
    folder.chmod(0o1777)
    job = bed.submit([*arguments, f"--output={folder}/%j", f"--wrap={command}"], user=user)
    state = bed.wait_job(job, deadline)["JobState"]
    return state, (folder / job).read_text()


def test_a_job_runs_on_two_nodes(bed: Bed) -> None:
    state, text = output(bed, ["--nodes=2"], "srun printenv SLURMD_NODENAME")
    assert state == "COMPLETED"
    assert sorted(text.split()) == bed.nodes[:2]


def test_gpus_are_named(bed: Bed) -> None:
    _, text = output(bed, ["--gpus-per-node=v100:2"], "echo $CUDA_VISIBLE_DEVICES")
    assert text.strip() == "0,1"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs jobs of others")
def test_another_user_runs_a_job(bed: Bed) -> None:
    state, text = output(bed, [], "id -u", user=NOBODY)
    assert (state, text.strip()) == ("COMPLETED", str(NOBODY))


def test_simple_nodes_share_one_machine_and_keep_no_accounts(bed_s: Bed) -> None:
    _, text = output(bed_s, ["--nodes=2"], "srun hostname")
    assert len(set(text.split())) == 1
    assert "accounting storage is disabled" in bed_s.run(["sacct"]).stderr


def test_simple_beds_enforce_no_memory_limit(bed_s: Bed) -> None:
    state, _ = output(bed_s, ["--mem=50M"], EAT_MEMORY)
    assert state == "COMPLETED"


def test_heal_ends_what_a_simple_job_left_behind(bed_s: Bed) -> None:
    _, text = output(bed_s, [], "setsid sleep 1000 >/dev/null 2>&1 & echo $!")
    assert alive(int(text))
    bed_s.heal()
    poll_until(lambda: not alive(int(text)), 5, "the end of the orphan")


def test_every_production_node_is_a_machine(bed_p: Bed) -> None:
    ask = "srun sh -c 'touch /tmp/$SLURMD_NODENAME; echo $(hostname) $(hostname -I) $(ls /dev/shm | wc -l)'"
    _, text = output(bed_p, ["--nodes=2"], ask)
    expected = [f"{name} {bed_p.node(name).address} 0" for name in bed_p.nodes[:2]]
    assert sorted(text.splitlines()) == expected
    for name in bed_p.nodes[:2]:
        assert [path.name for path in bed_p.local_tmp(name).iterdir()] == [name]


def test_memory_limit_kills(bed_p: Bed) -> None:
    state, _ = output(bed_p, ["--mem=50M"], EAT_MEMORY)
    assert state == "OUT_OF_MEMORY"


def test_a_gpu_of_another_job_cannot_be_opened(bed_p: Bed) -> None:
    ask = f"for n in 0 1; do cat {bed_p.root}/dev/nvidia$n; done 2>&1; echo ok >/dev/null && echo null"
    _, text = output(bed_p, ["--gpus=1"], ask)
    # No driver stands behind the fake devices, so the allowed one is "No such device or address".
    allowed, denied, null = text.splitlines()
    assert "No such device or address" in allowed
    assert "Operation not permitted" in denied
    assert null == "null"


def test_accounting_answers(bed_p: Bed) -> None:
    job = bed_p.submit(["--wrap=exit 3"])
    ask = ["sacct", "--noheader", "--parsable2", "--allocations", f"--jobs={job}", "--format=State,ExitCode"]
    poll_until(lambda: bed_p.run(ask).stdout == "FAILED|3:0\n", 20, "the job in the accounts")


def test_preemption_requeues_and_start_now_spares_the_wait(bed_p: Bed) -> None:
    low = bed_p.submit(["--nodes=4", "--exclusive", "--wrap=sleep 60"])
    bed_p.wait_state(low, "RUNNING", 10)
    high = bed_p.submit(["--partition=high", "--nodes=4", "--exclusive", "--wrap=true"])
    bed_p.wait_job(high, 20)
    bed_p.start_now(low)
    bed_p.wait_state(low, "RUNNING", 10)
    assert bed_p.job(low)["Restarts"] == "1"


def test_heal_after_every_daemon_was_hurt(bed_p: Bed) -> None:
    bed_p.submit(["--nodes=4", "--wrap=trap '' TERM; srun sleep 1000"])
    bed_p.controller.kill()
    bed_p.accounting.kill()
    first, second, third, fourth = (bed_p.node(name) for name in bed_p.nodes)
    first.kill()
    second.crash()
    third.pause()
    fourth.unplug()
    bed_p.heal()
    state, _ = output(bed_p, ["--nodes=4"], "srun true")
    assert state == "COMPLETED"


def test_a_node_that_is_down_comes_back(bed_p: Bed) -> None:
    name, other = bed_p.nodes[:2]
    reserve = ["ReservationName=test", "StartTime=now", "Duration=10", "Users=root", f"Nodes={other}"]
    assert bed_p.run(["scontrol", "create", "reservation", *reserve]).stderr == ""
    bed_p.run(["scontrol", "update", f"NodeName={name}", "State=DOWN", "Reason=test"])
    bed_p.run(["scontrol", "update", "PartitionName=short", "State=DOWN"])
    bed_p.heal()
    assert set(bed_p.run(["sinfo", "--noheader", "--format=%a %T"]).stdout.split()) == {"up", "idle"}


@pytest.mark.parametrize(
    ("fault", "message"), [(Fault.LOSE_REPLY, "Socket timed out"), (Fault.CUT_REPLY, "Zero Bytes")]
)
def test_a_submission_is_accepted_though_its_answer_is_lost(bed_s: Bed, fault: Fault, message: str) -> None:
    bed_s.proxy.arm(fault)
    name = f"lost-{fault.name}"
    submit = ["sbatch", f"--job-name={name}", "--wrap=sleep 100"]
    answer = bed_s.run(submit, SLURM_CONF=str(bed_s.flaky_conf))
    assert (answer.returncode, bed_s.proxy.faults_done > 0) == (1, True)
    assert message in answer.stderr
    assert bed_s.run(["squeue", "--noheader", f"--name={name}", "--format=%j"]).stdout.split() == [name]
    assert bed_s.run(submit, SLURM_CONF=str(bed_s.flaky_conf)).returncode == 0


def test_a_blackhole_swallows_the_submission(bed_p: Bed) -> None:
    bed_p.proxy.arm(Fault.BLACKHOLE)
    answer = bed_p.run(["sbatch", "--wrap=true"], SLURM_CONF=str(bed_p.flaky_conf))
    assert "Socket timed out" in answer.stderr
    assert bed_p.run(["squeue", "--noheader"]).stdout == ""


def test_a_paused_controller_does_not_answer(bed_s: Bed) -> None:
    bed_s.controller.pause()
    with pytest.raises(subprocess.TimeoutExpired):
        bed_s.run(["squeue"], timeout=1)
    bed_s.controller.resume()
    bed_s.controller.wait_ready(5)


def test_two_beds_at_once() -> None:
    with start_bed("S") as one, start_bed("S") as other:
        assert output(one, [], "true")[0] == output(other, [], "true")[0] == "COMPLETED"


def test_the_next_bed_sweeps_up_after_a_killed_keeper(bed_s: Bed) -> None:
    with start_bed("S") as lost:
        lost.submit(["--wrap=sleep 3000"])
        send(int(lost.layout.pid_file("keeper").read_text()), signal.SIGKILL)
    assert traces(str(lost.root), lost.layout.tag) != []
    with start_bed("S"):
        assert traces(str(lost.root), lost.layout.tag) == []


@pytest.mark.parametrize("kind", ["S", "P"])
def test_nothing_is_left_when_the_owner_is_killed(kind: str, request: pytest.FixtureRequest) -> None:
    request.getfixturevalue(f"bed_{kind.lower()}")  # skips where this kind cannot run
    owner = subprocess.Popen([sys.executable, "-c", OWNER, kind], cwd=TOP, stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    root, tag, job_process = owner.stdout.readline().split()
    assert Path(root).exists()
    owner.kill()
    owner.communicate()
    poll_until(lambda: traces(root, tag) == [], 20, "the end of all traces")
    if kind == "S":
        assert not alive(int(job_process))


# A job with a process in a session of its own, and an owner that forked: its child holds the pipe open.
OWNER = """
import os, sys, time
from tests.testbed import start_bed
from tests.testbed.polling import poll_until
with start_bed(sys.argv[1]) as bed:
    pid = bed.shared / "pid"
    bed.submit(["--nodes=2", "--wrap=setsid sleep 3000 & echo $! > pid; srun sleep 3000"])
    poll_until(lambda: pid.exists() and pid.read_text() != "", 20, "the job")
    print(bed.root, bed.layout.tag, pid.read_text(), flush=True)
    if os.fork() == 0:
        os.close(1)
    time.sleep(30)
"""


def traces(root: str, tag: str) -> list[str]:
    """Everything of a bed that this machine still shows."""
    places = [
        *Path("/sys/fs/cgroup").glob(f"*/slurm_{tag}*"),
        *Path("/sys/class/net").glob(f"vb{tag}*"),
        Path(root),
    ]
    mounts = [line for line in Path("/proc/mounts").read_text().splitlines() if root in line]
    return [str(path) for path in places if path.exists()] + mounts + _processes_of(root)


def _processes_of(root: str) -> list[str]:
    found = []
    for pid in all_processes():
        try:
            text = Path(f"/proc/{pid}/cmdline").read_bytes() + Path(f"/proc/{pid}/environ").read_bytes()
        except OSError:
            continue
        if root.encode() in text and pid != os.getpid():
            found.append(f"process {pid}: {text[:100]!r}")
    return found
