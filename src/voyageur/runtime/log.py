"""What we say ourselves in the run's log, between the program's own lines."""

import contextlib
import sys


def say(text: str) -> None:
    with contextlib.suppress(OSError):
        print("voyageur: %s" % text, file=sys.stderr, flush=True)
