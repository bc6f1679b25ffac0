"""A small program that trains for long. Every step follows from the one before: its end tells whether any was lost."""

from __future__ import annotations

import contextlib
import json
import subprocess
from typing import Any

from tests.place import Place
from voyageur.slurm_text import warn_argv

SOURCE = """\
import json, os, sys, time
from voyageur import job

total, pause, every = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
path = job.checkpoint.latest()
state = json.load(open(path)) if path else {"step": 0, "weight": 1}
print("begins at", state["step"], flush=True)


def save():
    with job.checkpoint.writing("step-%05d.json" % state["step"]) as file:
        file.write(json.dumps(state).encode())


while state["step"] < total:
    time.sleep(pause)
    state["step"] += 1
    state["weight"] = (state["weight"] * 6364136223846793005 + state["step"]) % 2**64
    print("step %d/%d" % (state["step"], total), flush=True)
    if job.should_stop():
        save()
        sys.exit(0)
    if state["step"] % every == 0 or job.should_save():
        save()
print("result", state["weight"], flush=True)
"""


def result(total: int) -> str:
    weight = 1
    for step in range(1, total + 1):
        weight = (weight * 6364136223846793005 + step) % 2**64
    return f"result {weight}\n"


def prepare(place: Place, **checkpoint: Any) -> None:
    place.write("train.py", SOURCE)
    said = {"pattern": "step-*.json", "progress": r"step (\d+)/(\d+)", "warn": "30s", **checkpoint}
    write_spec(place, "", **said)


def write_spec(place: Place, before: str, **checkpoint: Any) -> None:
    lines = [f"{key} = {json.dumps(value)}" for key, value in checkpoint.items()]
    place.write("voyageur.toml", "\n".join([before, "[checkpoint]", *lines, ""]))


def warn(place: Place, run: str) -> None:
    """What Slurm does before a limit, without waiting for one. With `requeue = false` it cannot be a preemption.

    Of an array with tasks that wait, scancel 22.05 delivers the signal, is told "transitional state", and delivers it
    again until the job is over; so it is not waited for.
    """
    assert place.bed
    name = json.loads((place.folder(run) / "run.json").read_text())["job_name"]
    with contextlib.suppress(subprocess.TimeoutExpired):
        place.bed.run(warn_argv(name), timeout=2)


def command(total: int, pause: float = 0.1, every: int = 5) -> list[str]:
    return ["--", "python", "train.py", str(total), str(pause), str(every)]


def begins(log: str) -> list[int]:
    """The step that each attempt began at."""
    return [int(line.split()[-1]) for line in log.splitlines() if line.startswith("begins at")]


def steps(log: str) -> list[int]:
    """Every step that was computed, in the order of the log."""
    return [int(line.split()[1].split("/")[0]) for line in log.splitlines() if line.startswith("step ")]


def lost(log: str) -> int:
    """Steps that had to be computed once more."""
    return len(steps(log)) - len(set(steps(log)))
