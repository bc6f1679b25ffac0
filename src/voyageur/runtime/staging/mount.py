"""An image or a zip as a folder, by whichever FUSE program this node has. None of them needs rights of its own."""

import contextlib
import os
import shutil
import signal
import subprocess
import time
from typing import List, Optional

from voyageur.runtime import mounts, processes

# Each stays in the foreground, so that it ends with the task.
_TOOLS = {
    "squashfs image": (["squashfuse", "-f"], ["squashfuse_ll", "-f"]),
    "zip": (["mount-zip", "-f", "-o", "ro"], ["fuse-zip", "-f", "-r"]),
}
_PATIENCE = 10.0


class CannotMount(Exception):
    pass


def tool_for(kind: str) -> Optional[List[str]]:
    for words in _TOOLS.get(kind, ()):
        if shutil.which(words[0]) and os.path.exists("/dev/fuse"):
            return words
    return None


class Mounted:
    def __init__(self, kind: str, image: str, path: str) -> None:
        words = tool_for(kind)
        if words is None:
            raise CannotMount("no program here mounts a %s" % kind)
        self.path = path
        self._tool = words[0]
        os.makedirs(path, 0o700, exist_ok=True)
        self._process = subprocess.Popen(
            [*words, image, path],
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=processes.at_parents_death(signal.SIGTERM),
        )
        self._wait()

    def _wait(self) -> None:
        deadline = time.monotonic() + _PATIENCE
        while not os.path.ismount(self.path):
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.end()
                raise CannotMount("%s could not mount it" % self._tool)
            time.sleep(0.02)

    @property
    def process_id(self) -> int:
        return self._process.pid

    def end(self) -> None:
        mounts.let_go(self.path)
        with contextlib.suppress(ProcessLookupError):
            self._process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(5)
