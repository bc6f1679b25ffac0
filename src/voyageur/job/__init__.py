"""For programs inside a run: `from voyageur import job`. Outside one, everything still answers sensibly."""

import contextlib
import os
import sys
from types import ModuleType
from typing import Optional

HEARD = ".voyageur.heard"

run = os.environ.get("VOY_RUN", "")
attempt = int(os.environ.get("VOY_ATTEMPT", "0"))
tmp = os.environ.get("VOY_TMP", "")
checkpoints = os.environ.get("VOY_CHECKPOINTS", "")

_run_folder = os.environ.get("VOY_RUN_DIR", "")
_saved_for = -1  # when the last request to save was made that this process has been told of


def __getattr__(name: str) -> ModuleType:
    """`job.checkpoint`, loaded when it is used."""
    if name == "checkpoint":
        import importlib

        return importlib.import_module("voyageur.job.checkpoint")
    raise AttributeError("module %r has no attribute %r" % (__name__, name))


def should_stop() -> bool:
    """True once the run was told that its time is nearly up: save and leave."""
    stop_file = os.environ.get("VOY_STOP_FILE", "")
    if not stop_file or not os.path.exists(stop_file):
        return False
    # So that a run that ends early because of this is told from one that has done all its work.
    with contextlib.suppress(OSError):
        open(os.path.join(tmp, HEARD), "a").close()
    return True


def should_save() -> bool:
    """True once for each `voy checkpoint RUN`: save now, and go on."""
    global _saved_for
    try:
        asked = os.stat(os.path.join(_run_folder, "save")).st_mtime_ns if _run_folder else -1
    except OSError:
        return False
    if asked == _saved_for:
        return False
    _saved_for = asked
    return True


def progress(done: float, total: Optional[float] = None) -> None:
    """Say how far it is: a line in the log, which is read where `checkpoint.progress` names no pattern of its own."""
    of = "" if total is None else "/%.12g" % total
    sys.stdout.write("voyageur: progress %.12g%s\n" % (done, of))
    sys.stdout.flush()


def done() -> None:
    """All the work is done: when the program ends now, however it ends, no further piece of this run starts."""
    if _run_folder:
        open(os.path.join(_run_folder, "finished"), "a").close()
