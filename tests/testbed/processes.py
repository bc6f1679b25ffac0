"""What /proc says about processes, because a daemon's owner is not always its parent."""

import contextlib
import os
import signal
from collections import defaultdict
from pathlib import Path

from .polling import poll_until

_DEAD = {"Z", "X", "x"}


def _status(pid: int) -> tuple[str, int] | None:
    """State letter and parent of one process."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The command name stands in parentheses and may itself hold blanks and parentheses.
    state, parent, *_ = text[text.rindex(")") + 2 :].split()
    return state, int(parent)


def state(pid: int) -> str | None:
    found = _status(pid)
    return None if found is None else found[0]


def alive(pid: int) -> bool:
    return state(pid) not in {None, *_DEAD}


def all_processes() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def living_children() -> dict[int, list[int]]:
    """The living children of every process."""
    children: dict[int, list[int]] = defaultdict(list)
    for pid in all_processes():
        found = _status(pid)
        if found is not None and found[0] not in _DEAD:
            children[found[1]].append(pid)
    return children


def descendants(root: int) -> list[int]:
    children = living_children()
    found: list[int] = []
    waiting = list(children[root])
    while waiting:
        pid = waiting.pop()
        found.append(pid)
        waiting += children[pid]
    return found


def send(pid: int, number: signal.Signals) -> None:
    """Signal a process that may be gone already."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def reap() -> None:
    """Collect every child that has ended."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def kill_descendants(root: int, deadline: float = 20) -> None:
    """Kill until nobody is left: processes may fork between the look and the signal."""

    def none_left() -> bool:
        left = descendants(root)
        for pid in left:
            send(pid, signal.SIGKILL)
        reap()
        return not left

    poll_until(none_left, deadline, f"the end of all descendants of process {root}")
