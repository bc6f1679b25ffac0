"""`scontrol show hostnames`, and a job's `scontrol requeue` of itself, on a machine without Slurm."""

from __future__ import annotations

import os
import signal
import sys

from .hostlist import expand

AGAIN = "VOY_LOCAL_AGAIN"  # the file that tells the keeper to start this job once more


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["requeue"]:
        return _requeue(arguments[1:])
    if arguments[:2] not in (["show", "hostnames"], ["show", "hostname"]):
        return _fail("on this machine without Slurm only `show hostnames` and `requeue` are there")
    listed = arguments[2] if len(arguments) > 2 else os.environ.get("SLURM_JOB_NODELIST", "")
    try:
        names = expand(listed)
    except ValueError as problem:
        return _fail(f"invalid host list: {problem}")
    sys.stdout.write("".join(f"{name}\n" for name in names))
    return 0


def _requeue(jobs: list[str]) -> int:
    """As Slurm does: whoever asks is ended, and begins anew. Only a job itself can ask."""
    file = os.environ.get(AGAIN, "")
    if [f"{job}.again" for job in jobs] != [os.path.basename(file)]:
        return _fail("on this machine without Slurm a job can put only itself back")
    with open(file, "w"):
        pass
    os.kill(os.getppid(), signal.SIGTERM)
    return 0


def _fail(problem: str) -> int:
    sys.stderr.write(f"scontrol: error: {problem}\n")
    return 1
