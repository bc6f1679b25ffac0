"""The one way this test bed waits: ask again until a deadline, never sleep and hope."""

import time
from collections.abc import Callable

PAUSE = 0.02


def poll_until(question: Callable[[], bool], deadline: float, what: str) -> None:
    """Return as soon as the answer is yes; TimeoutError naming `what` after `deadline` seconds."""
    end = time.monotonic() + deadline
    while not question():
        if time.monotonic() > end:
            raise TimeoutError(f"not within {deadline:g} s: {what}")
        time.sleep(PAUSE)
