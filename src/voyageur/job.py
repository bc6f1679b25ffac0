"""For programs inside a run: `from voyageur import job`. Outside one, everything still answers sensibly."""

import os

run = os.environ.get("VOY_RUN", "")
attempt = int(os.environ.get("VOY_ATTEMPT", "0"))
tmp = os.environ.get("VOY_TMP", "")
checkpoints = os.environ.get("VOY_CHECKPOINTS", "")


def should_stop() -> bool:
    """True once the run was told that its time is nearly up: save and leave."""
    stop_file = os.environ.get("VOY_STOP_FILE", "")
    return bool(stop_file) and os.path.exists(stop_file)
