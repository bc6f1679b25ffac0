"""Did the kernel kill somebody in this job for want of memory? The cgroups that Slurm makes count that."""

import contextlib
import os
import re

_MOUNT = "/sys/fs/cgroup"


def oom_kills() -> int:
    """In the job's cgroups so far; 0 where nobody counts. Only the difference between two answers says anything."""
    with contextlib.suppress(OSError), open("/proc/self/cgroup") as file:
        for line in file:
            _, controllers, path = line.rstrip("\n").split(":", 2)
            if "memory" in controllers.split(","):
                return sum(_count(folder, "memory.oom_control") for folder in _levels(_MOUNT + "/memory", path))
            if not controllers:  # version 2, where a group counts for all below it
                return max((_count(folder, "memory.events") for folder in _levels(_MOUNT, path)), default=0)
    return 0


def _levels(mount: str, path: str) -> "list[str]":
    """From our own group up to the job's: the step's limit may be the one that was met."""
    found = []
    while "/job_" in path:
        found.append(mount + path)
        path = os.path.dirname(path)
    return found


def _count(folder: str, name: str) -> int:
    with contextlib.suppress(OSError), open(os.path.join(folder, name)) as file:
        match = re.search(r"^oom_kill (\d+)$", file.read(), re.MULTILINE)
        if match:
            return int(match.group(1))
    return 0
