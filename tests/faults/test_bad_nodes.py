"""A node that fails a run is left out of what follows; a program's own failure leaves no node out."""

from __future__ import annotations

import pytest

from tests import trainer
from tests.place import Place

# A mock: nobody here has a GPU, so a small script stands for nvidia-smi. On the node named in a file, its GPU is gone.
NVIDIA_SMI = """\
#!/bin/bash
if [ "$SLURMD_NODENAME" = "$(cat {bad} 2>/dev/null)" ]; then
    echo "Unable to determine the device handle for GPU0000:41:00.0: Unknown Error"
    exit 15
fi
echo "GPU 0: NVIDIA H200 (UUID: GPU-1)"
"""
PROGRAM = """\
import os, time
print("on", os.environ["SLURMD_NODENAME"], flush=True)
name = {bad!r}
if not os.path.exists(name):
    open(name, "w").write(os.environ["SLURMD_NODENAME"])
    raise SystemExit("CUDA error: unknown error")
"""


def with_gpus(place: Place, program: str, **checkpoint: object) -> None:
    bad = place.root / "bad-node"
    tool = place.root / "bin" / "nvidia-smi"
    tool.parent.mkdir()
    tool.write_text(NVIDIA_SMI.format(bad=bad))
    tool.chmod(0o755)
    place.write("train.py", program.format(bad=str(bad)))
    trainer.write_spec(place, f'[env.variables]\nPATH = "{tool.parent}:{place.environment["PATH"]}"\n', **checkpoint)


def left_out(place: Place, run: str) -> dict[str, str]:
    events = place.status(run)["events"]
    return {event["node"]: event["because"] for event in events if event["event"] == "node left out"}


def nodes_of(log: str) -> list[str]:
    return [line.split()[-1] for line in log.splitlines() if line.startswith("on ")]


@pytest.mark.parametrize("by", ["array", "successors"])
def test_a_gpu_that_is_gone_sends_the_next_piece_elsewhere(production: Place, by: str) -> None:
    with_gpus(production, PROGRAM, chain=4, by=by)
    run = production.submit("-g", "1", "-t", "2m", "--", "python", "train.py")
    ended = production.wait(run, code=0)
    first, second = nodes_of(production.log(run))
    assert (ended["state"], ended["attempt"]) == ("done", 2) and first != second
    assert list(left_out(production, run)) == [first]
    assert "GPUs are there" in left_out(production, run)[first]
    assert f"left out   node {first}: " in production.voy("status", run).stdout


def test_without_a_chain_the_job_goes_back_into_the_queue_and_elsewhere(production: Place) -> None:
    with_gpus(production, PROGRAM)
    run = production.submit("-g", "1", "-t", "2m", "--", "python", "train.py")
    production.until(lambda: production.status(run)["state"] == "pending" and left_out(production, run), 60)
    assert production.bed
    job = production.status(run)["job"]
    first = nodes_of(production.log(run))[0]
    assert production.bed.job(job)["ExcNodeList"] == first
    production.bed.start_now(job, deadline=30)
    assert production.wait(run, code=0)["attempt"] == 2
    assert nodes_of(production.log(run))[1] != first


def test_a_program_that_fails_by_itself_is_no_fault_of_its_node(production: Place) -> None:
    with_gpus(production, "import os; print('on', os.environ['SLURMD_NODENAME'], flush=True); raise SystemExit(3)")
    ended = production.finish("-g", "1", "-t", "2m", "--", "python", "train.py")
    assert (ended["state"], ended["exit_code"], ended["attempt"]) == ("failed", 3, 1)
    assert left_out(production, ended["run"]) == {}


def test_when_every_node_looks_bad_the_run_fails_and_says_so(production: Place) -> None:
    program = PROGRAM.replace("if not os.path.exists(name):", "if True:")
    with_gpus(production, program, chain=8)
    run = production.submit("-g", "1", "-t", "2m", "--", "python", "train.py")
    ended = production.wait(run, code=1)
    assert (ended["state"], ended["attempt"]) == ("failed", 4)
    assert "GPUs are there" in ended["because"]


def test_an_owner_may_keep_a_waiting_job_away_from_a_node(production: Place) -> None:
    """What this stands on: Slurm 22.05 takes it from a user without rights, while the job waits."""
    assert production.bed
    somebody = 65534
    job = production.bed.submit(["--hold", "--chdir=/", "--output=/dev/null", "--wrap=true"], user=somebody)
    node = production.bed.nodes[0]
    answer = production.bed.run(["scontrol", "update", f"JobId={job}", f"ExcNodeList={node}"], user=somebody)
    assert answer.returncode == 0, answer.stderr
    assert production.bed.job(job)["ExcNodeList"] == node
    production.bed.run(["scancel", job], user=somebody)
