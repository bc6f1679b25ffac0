"""Which checkpoints may go: only what this run wrote, never the last whole one, never the one it began from."""

import contextlib
import os
import shutil
from typing import List

from voyageur.job import checkpoint_files as saved
from voyageur.job.checkpoint_files import Checkpoint
from voyageur.runtime.folder import Json


def first_start(events: List[Json]) -> float:
    return next((float(event["time"]) for event in events if event["event"] == "attempt started"), 0.0)


def tidy(folder: str, pattern: str, keep: int, run: str, since: float, began_from: str) -> List[str]:
    """The names of what was removed. Without a pattern, only what was published is known to be a checkpoint."""
    found = saved.newest_first(folder, pattern or "*")
    ours = [one for one in found if _is_ours(one, run, since, bool(pattern))]
    old = ours[keep:]
    if not old:
        return []
    whole = saved.first_whole(ours[:keep])
    if whole is None:  # those that stay are all damaged: nothing goes
        return []
    return [one.name for one in old if one.name != began_from and _remove(one.path)]


def _is_ours(checkpoint: Checkpoint, run: str, since: float, has_pattern: bool) -> bool:
    if checkpoint.published is not None:
        return checkpoint.published.get("run") == run
    return has_pattern and checkpoint.written >= since


def _remove(path: str) -> bool:
    with contextlib.suppress(OSError):
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        else:
            os.unlink(path)
        return True
    return False
