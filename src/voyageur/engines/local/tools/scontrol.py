"""`scontrol show hostnames`, on a machine without Slurm."""

from __future__ import annotations

import os
import sys

from .hostlist import expand


def main(arguments: list[str]) -> int:
    if arguments[:2] not in (["show", "hostnames"], ["show", "hostname"]):
        return _fail("on this machine without Slurm only `show hostnames` is there")
    listed = arguments[2] if len(arguments) > 2 else os.environ.get("SLURM_JOB_NODELIST", "")
    try:
        names = expand(listed)
    except ValueError as problem:
        return _fail(f"invalid host list: {problem}")
    sys.stdout.write("".join(f"{name}\n" for name in names))
    return 0


def _fail(problem: str) -> int:
    sys.stderr.write(f"scontrol: error: {problem}\n")
    return 1
