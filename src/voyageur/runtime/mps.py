"""Several processes on one GPU at once: NVIDIA's MPS, one for each node, private to the run.

Without it the GPU gives each process a turn. The first task of a node starts it in the run's own folder, and ends it
when the last of the others has let go of the file that they all hold; the kernel lets go for those that are killed.
"""

import contextlib
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from typing import Callable, Dict, List, Mapping, Optional

from voyageur.runtime import processes
from voyageur.runtime.node_folder import remove_tree

TOOL = "nvidia-cuda-mps-control"
_PIPES, _LOGS = "CUDA_MPS_PIPE_DIRECTORY", "CUDA_MPS_LOG_DIRECTORY"
_MEETING_PLACE = ".voyageur.mps"
_SAID = "said"
_NAME = "nvidia-cuda-mps"  # the kernel keeps 15 letters of a process's name
_PATIENCE = 20.0
_ANSWER_SECONDS = 10.0
_LONGEST = 64  # a socket's path has room for 107 letters
_OVER = "over"
_NO_ANSWER = 909  # CUDA's own number for a time that is over
_CLIENT = """
import ctypes, sys
try:
    cuda = ctypes.CDLL("libcuda.so.1")
except OSError:
    sys.exit(0)  # it is in the program's container or environment, and nobody can ask here
count = ctypes.c_int()
code = cuda.cuInit(0) or cuda.cuDeviceGetCount(ctypes.byref(count))
sys.exit(min(code, 255) or (0 if count.value else 100))
"""

Pause = Callable[[float], bool]


class Mps:
    """What one task has to do with it. `problem`: why it is not used, where that is worth telling."""

    def __init__(self, environment: Mapping[str, str], tmp: str, first: bool) -> None:
        self.problem = ""
        self.pipes = ""
        self._wanted = environment.get("VOY_MPS", "")
        self._environment = dict(environment)
        self._tmp = tmp
        self._first = first
        self._control: "Optional[subprocess.Popen[bytes]]" = None
        self._held = _hold(os.path.join(tmp, _MEETING_PLACE)) if self._wanted else -1

    # ── begin ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def variables(self, pause: Pause) -> Dict[str, str]:
        """What the program has to be told; nothing, where it goes without."""
        if not self._wanted:
            return {}
        if self._first:
            self._say(self._started())
        self.pipes = self._heard(pause)
        return {_PIPES: self.pipes, **_renumbered(self._environment)} if self.pipes else {}

    def _started(self) -> str:
        """Where its pipes are; nothing where it does not run."""
        if not shutil.which(TOOL, path=self._environment.get("PATH")):
            self.problem = "there is no %s" % TOOL if self._wanted == "1" else ""
            return ""
        try:
            return self._start()
        except OSError as problem:
            self.problem = "%s cannot be started: %s" % (TOOL, problem.strerror)
            return ""

    def _start(self) -> str:
        near = len(self._tmp) < _LONGEST
        place = tempfile.mkdtemp(prefix=".mps-", dir=self._tmp if near else "/tmp")  # noqa: S108 - it is private
        self._environment.update({_PIPES: place, _LOGS: place})
        with open(os.path.join(place, _SAID), "wb") as said:
            self._control = self._run(["-f"], start_new_session=True, output=said.fileno())
        deadline = time.monotonic() + _PATIENCE
        while not self._answers(place):
            if self._control.poll() is not None or time.monotonic() > deadline:
                self.problem = "%s does not come up%s" % (TOOL, _last_words(place))
                self._quit()
                return ""
            time.sleep(0.05)
        if code := self._code_of_a_client():
            self.problem = "a program sees no GPU through it (CUDA error %d)" % code
            self._quit()
            return ""
        return place

    def _code_of_a_client(self) -> int:
        """0 for one that finds a GPU. Libraries that find none go on without a word, on the CPU."""
        told = {**self._environment, **_renumbered(self._environment)}
        try:
            return subprocess.run([sys.executable, "-I", "-c", _CLIENT], env=told, timeout=_PATIENCE).returncode
        except subprocess.TimeoutExpired:
            return _NO_ANSWER

    def _run(
        self, arguments: List[str], start_new_session: bool = False, output: int = subprocess.DEVNULL
    ) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            [TOOL, *arguments],
            env=self._environment,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            start_new_session=start_new_session,
            preexec_fn=processes.at_parents_death(signal.SIGKILL),
        )

    def _answers(self, place: str) -> bool:
        return os.path.exists(os.path.join(place, "control")) and self._told("get_server_list")

    def _told(self, what: str) -> bool:
        """It takes commands from a second process of its own kind."""
        speaker = self._run([])
        try:
            speaker.communicate(what.encode() + b"\n", timeout=_ANSWER_SECONDS)
        except (OSError, subprocess.TimeoutExpired):
            speaker.kill()
        return speaker.wait() == 0

    # ── what the tasks of a node tell each other ─────────────────────────────────────────────────────────────────────

    def _say(self, what: str) -> None:
        os.pwrite(self._held, ("%s\n" % what).encode(), 0)
        os.ftruncate(self._held, len(what) + 1)

    def _heard(self, pause: Pause) -> str:
        deadline = time.monotonic() + 2 * _PATIENCE
        while time.monotonic() < deadline:
            said = os.pread(self._held, 4096, 0).decode()
            if said.endswith("\n"):
                return "" if said.strip() == _OVER else said.strip()
            if not pause(0.05):
                break
        return ""

    # ── end ──────────────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def runs(self) -> bool:
        """And this task is the one that keeps it."""
        return self._control is not None

    @property
    def stayers(self) -> List[int]:
        """It goes on when the first task's program has ended, for the others."""
        return [pid for pid in processes.family(os.getpid()) if _is_of_mps(pid)] if self._control else []

    def end(self, pause: Pause, patience: float) -> None:
        """The first task waits for the others, after a request to end so long at most; who comes later goes without."""
        if self._held < 0:
            return
        if self._control:
            self._wait_for_others(pause, patience)
            self._say(_OVER)
            self._quit()
        os.close(self._held)
        self._held = -1

    def _wait_for_others(self, pause: Pause, patience: float) -> None:
        deadline = float("inf")
        while time.monotonic() < deadline:
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(self._held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            if not pause(0.2):
                deadline = min(deadline, time.monotonic() + patience)

    def _quit(self) -> None:
        control, self._control = self._control, None
        assert control is not None
        if control.poll() is None:
            self._told("quit -t 5")
        with contextlib.suppress(subprocess.TimeoutExpired):
            control.wait(_ANSWER_SECONDS)
        if control.poll() is None:
            processes.kill_all(control.pid)
        control.wait()
        remove_tree(self._environment[_PIPES])


def _hold(path: str) -> int:
    held = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    fcntl.flock(held, fcntl.LOCK_SH)
    return held


def _last_words(place: str) -> str:
    """In the foreground it may speak to its terminal, or write its log, or both."""
    for name in ("control.log", _SAID):
        with contextlib.suppress(OSError, IndexError), open(os.path.join(place, name), errors="replace") as file:
            return ": " + file.read().strip().splitlines()[-1]
    return ""


def _is_of_mps(pid: int) -> bool:
    with contextlib.suppress(OSError), open("/proc/%d/comm" % pid) as file:
        return file.read().strip() == _NAME
    return False


def _renumbered(environment: Mapping[str, str]) -> Dict[str, str]:
    """Its clients count the GPUs that it was given from 0. Names like `GPU-8f2c` are the same for all."""
    seen = [part for part in environment.get("CUDA_VISIBLE_DEVICES", "").split(",") if part]
    if not seen or not all(map(str.isdigit, seen)):  # an empty list would hide them all
        return {}
    return {"CUDA_VISIBLE_DEVICES": ",".join(map(str, range(len(seen))))}
