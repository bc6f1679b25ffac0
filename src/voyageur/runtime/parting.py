"""`voy stop` for a program that does not listen: it is ended as soon as it has written its next whole checkpoint."""

import os
import signal
import threading
import time
from typing import Callable, Mapping, Optional

from voyageur.job import checkpoint_files as saved
from voyageur.runtime import resume

_LOOK_SECONDS = 1.0
_SETTLED_SECONDS = 2.0  # a program that writes several files for one checkpoint may not be done with the first
_SETTLED_BEHIND_SRUN = 20.0  # more than a beat: until then the tasks have said whether their program listens


class Parting:
    """On the side: reading a large checkpoint takes longer than a signal may wait. When it is time, this process gets
    what a stop would send."""

    def __init__(self, environment: Mapping[str, str], through_srun: bool, heard: Callable[[], bool]) -> None:
        self.environment = environment
        self.settled = _SETTLED_BEHIND_SRUN if through_srun else _SETTLED_SECONDS
        self.heard = heard
        self.is_due = False
        self._waits: Optional[threading.Thread] = None

    @property
    def is_possible(self) -> bool:
        """Without a pattern nobody knows which files are checkpoints. Once is enough."""
        return bool(self.environment.get("VOY_CHECKPOINT_PATTERN")) and self._waits is None

    def begin(self) -> None:
        self._waits = threading.Thread(target=self._wait, args=(self._newest(),), daemon=True)
        self._waits.start()

    def _newest(self) -> Optional[resume.Mark]:
        return resume.mark_of(resume.newest(self.environment))

    def _wait(self, before: Optional[resume.Mark]) -> None:
        while not self._has_saved(before):
            time.sleep(_LOOK_SECONDS)
        if not self.heard():
            self.is_due = True
            os.kill(os.getpid(), signal.SIGTERM)

    def _has_saved(self, before: Optional[resume.Mark]) -> bool:
        newest = resume.newest(self.environment)
        if newest is None or resume.mark_of(newest) == before:
            return False
        time.sleep(self.settled)
        return saved.why_not(newest) is None
