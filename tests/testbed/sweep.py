"""What a killed keeper left behind, taken away by the next bed.

A keeper holds a lock in its folder as long as it lives; a folder whose lock is free belongs to nobody.
"""

import fcntl
import os
import signal
from pathlib import Path

from .layout import PARENT, PREFIX, Layout, load_layout
from .polling import poll_until
from .processes import descendants, living_children, send
from .teardown import remove_traces


def hold_lock(layout: Layout) -> None:
    """Until this process ends. Locked before it has its name: a free lock is an invitation to sweep."""
    unnamed = layout.root / "run" / "keeper.lock.new"
    fcntl.flock(os.open(unnamed, os.O_RDWR | os.O_CREAT, 0o600), fcntl.LOCK_EX)
    unnamed.rename(_lock_file(layout.root))


def sweep_abandoned() -> None:
    for root in PARENT.glob(f"{PREFIX}*"):
        if root.stat().st_uid == os.geteuid() and _is_abandoned(root):
            _sweep(load_layout(root))


def _sweep(layout: Layout) -> None:
    poll_until(lambda: _none_left(layout.root), 20, f"the end of what ran in {layout.root}")
    remove_traces(layout)


def _lock_file(root: Path) -> Path:
    return root / "run" / "keeper.lock"


def _is_abandoned(root: Path) -> bool:
    try:
        with _lock_file(root).open() as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # held by its keeper, or too young to have a lock
        return False
    return True


def _none_left(root: Path) -> bool:
    """Kill what process 1 inherited from the keeper, with all below it."""
    tops = [pid for pid in living_children()[1] if _mentions(pid, root)]
    for top in tops:
        for pid in [*descendants(top), top]:
            send(pid, signal.SIGKILL)
    return not tops


def _mentions(pid: int, root: Path) -> bool:
    try:
        text = Path(f"/proc/{pid}/cmdline").read_bytes() + Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False
    return str(root).encode() in text
