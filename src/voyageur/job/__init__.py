"""For programs inside a run: `from voyageur import job`. Outside one, everything still answers sensibly."""

import contextlib
import os

HEARD = ".voyageur.heard"

run = os.environ.get("VOY_RUN", "")
attempt = int(os.environ.get("VOY_ATTEMPT", "0"))
tmp = os.environ.get("VOY_TMP", "")
checkpoints = os.environ.get("VOY_CHECKPOINTS", "")


def should_stop() -> bool:
    """True once the run was told that its time is nearly up: save and leave."""
    stop_file = os.environ.get("VOY_STOP_FILE", "")
    if not stop_file or not os.path.exists(stop_file):
        return False
    # So that a run that ends early because of this is told from one that has done all its work.
    with contextlib.suppress(OSError):
        open(os.path.join(tmp, HEARD), "a").close()
    return True
