"""A cluster inside the job: a head beside the first task, a worker on every node, and the command when all are there.

The first task holds a line to each of the others. When it ends, however it ends, the line breaks, and they end too.
"""

import contextlib
import os
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
from typing import Dict, List, Mapping, Optional, Tuple

from voyageur.runtime import blanks, inside, processes
from voyageur.runtime.node_folder import NodeFolder, base_folder
from voyageur.runtime.program import Program
from voyageur.runtime.staging.aboard import Pause, Stopped

_READY_SECONDS = 180.0
END_SECONDS = 3.0  # nothing is in a service that anybody will want; Ray's own may look for each other for minutes
_WORKERS_END_SECONDS = 2.0
_LAST_LINES = 15
_LONGEST = 42


class MembersError(Exception):
    pass


class Services:
    """What a task starts beside, or instead of, the command. Its output goes to the node's own disk."""

    def __init__(self, environment: Dict[str, str], tmp: str, pause: Pause) -> None:
        self.environment = environment
        self.tmp = tmp
        self.pause = pause
        self.program: Optional[Program] = None  # for those that run in a container
        self.short: Optional[NodeFolder] = None
        self.started: List["subprocess.Popen[bytes]"] = []
        self.is_hidden = inside.recipe_of(environment).get("environment", "host") != "host"
        self.is_first = environment.get("IS_FIRST") == "1" and environment.get("LOCAL_RANK", "0") == "0"
        if "{SHORT_TMP}" in environment.get("VOY_HEAD", ""):
            self.short = NodeFolder(_short_path(environment), environment["VOY_TOKEN"])
            environment["SHORT_TMP"] = self.short.path

    def start(self, name: str) -> "subprocess.Popen[bytes]":
        """VOY_HEAD or VOY_WORKER."""
        words, environment = self._entry(name)
        with open(self.log(name), "ab") as log:
            try:
                service = subprocess.Popen(
                    words,
                    env=environment,
                    cwd=self.tmp,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                    preexec_fn=processes.at_parents_death(signal.SIGKILL),
                )
            except OSError as problem:
                raise MembersError("%s cannot be started: %s" % (words[0], problem.strerror)) from None
        self.started.append(service)
        return service

    def _entry(self, name: str) -> "Tuple[List[str], Dict[str, str]]":
        words = blanks.words(name, self.environment)
        if self.program is None:
            return words, self.environment
        try:
            entry = inside.enter(self.program._replace(argv=words))
        except inside.ContainerError as problem:
            raise MembersError(str(problem)) from None
        return entry.argv, entry.environment

    def log(self, name: str) -> str:
        return os.path.join(self.tmp, ".voyageur.%s.log" % name.lower())

    def last_words(self, name: str) -> str:
        with contextlib.suppress(OSError), open(self.log(name), "rb") as file:
            return "\n".join(file.read().decode("utf-8", "replace").splitlines()[-_LAST_LINES:])
        return ""

    def end(self) -> None:
        """Workers before their head, so that none of them looks for it."""
        for service in reversed(self.started):
            if service.poll() is None:
                _end_all(service, only_inside=self.is_hidden)
        if self.short:
            self.short.leave()

    # ── when all are there ───────────────────────────────────────────────────────────────────────────────────────────

    def wait_for_head(self, head: "Optional[subprocess.Popen[bytes]]" = None) -> None:
        place = (self.environment["MASTER_ADDR"], int(self.environment["MASTER_PORT"]))
        self._until(lambda: _answers(place), "VOY_HEAD", head, "%s:%d does not answer" % place)

    def wait_for_all(self, head: "subprocess.Popen[bytes]") -> None:
        line = self.environment.get("VOY_READY_LINE", "")
        if line:
            count, _, text = line.partition(" ")
            self._until(lambda: self._said(text) >= int(count), "VOY_HEAD", head, "not all workers came")
        if self.environment.get("VOY_READY"):
            words, environment = self._entry("VOY_READY")
            with open(self.log("VOY_READY"), "ab") as log:
                ready = subprocess.Popen(words, env=environment, stdout=log, stderr=subprocess.STDOUT)
            self.started.append(ready)
            self._until(lambda: ready.poll() is not None, "VOY_READY", head, "not all workers came")
            if ready.returncode:
                raise MembersError("not all workers came\n%s" % self.last_words("VOY_READY"))

    def _said(self, text: str) -> int:
        with contextlib.suppress(OSError), open(self.log("VOY_HEAD"), "rb") as file:
            return file.read().count(text.encode())
        return 0

    def _until(self, done, name: str, head: "Optional[subprocess.Popen[bytes]]", what: str) -> None:  # type: ignore[no-untyped-def]
        deadline = time.monotonic() + _READY_SECONDS
        while not done():
            if head is not None and head.poll() is not None:
                raise MembersError("the head ended with %s\n%s" % (head.returncode, self.last_words("VOY_HEAD")))
            if time.monotonic() > deadline:
                raise MembersError("%s in %d s\n%s" % (what, _READY_SECONDS, self.last_words(name)))
            if not self.pause(0.1):
                raise Stopped


def _short_path(environment: Mapping[str, str]) -> str:
    """The same on every node: Ray's workers write where its head was told to, each on its own disk.

    A socket's path has room for 107 letters, and Ray writes sixty of them itself.
    """
    name = "voy-%d-%s-%s" % (os.getuid(), environment["VOY_TOKEN"], environment.get("VOY_ATTEMPT", "0"))
    near = os.path.join(base_folder(environment), name)
    return near if len(near) < _LONGEST else os.path.join("/tmp", name)  # noqa: S108 - what is made there is private


def _end_all(service: "subprocess.Popen[bytes]", only_inside: bool) -> None:
    """And wait for each of its family: one that is left would write into a folder that is being removed.

    `ray start` waits for ever for those of its own that somebody else has ended, so only the topmost are told.
    """
    family = list(processes.family(service.pid))
    if not processes.tell(service.pid, signal.SIGTERM, only_inside):
        processes.signal_all(service.pid, signal.SIGTERM)
    deadline = time.monotonic() + END_SECONDS
    while service.poll() is None or _still_there(family):
        if time.monotonic() > deadline:
            for pid in _still_there(family):
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            return
        processes.reap_strangers((service.pid,))
        time.sleep(0.05)


def _still_there(pids: List[int]) -> List[int]:
    there = processes.processes()
    return [pid for pid in pids if pid in there]


def _answers(place: "tuple[str, int]") -> bool:
    try:
        socket.create_connection(place, 2.0).close()
        return True
    except OSError:
        return False


# ── the line between the tasks ───────────────────────────────────────────────────────────────────────────────────────


class Bell:
    """Held by the first task on the port behind MASTER_PORT. The kernel closes it whatever ends that task."""

    def __init__(self, port: int) -> None:
        self._server = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._server.bind(("", port))
        self._server.listen(1024)
        self._lines: List[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                self._lines.append(self._server.accept()[0])

    def ring(self) -> None:
        """And wait until the others are gone, but not for long: they end well only as long as their head is there."""
        deadline = time.monotonic() + _WORKERS_END_SECONDS
        with selectors.DefaultSelector() as waiting:
            for line in list(self._lines):
                with contextlib.suppress(OSError):
                    line.shutdown(socket.SHUT_WR)
                    waiting.register(line, selectors.EVENT_READ)
            while waiting.get_map() and time.monotonic() < deadline:
                for key, _ in waiting.select(deadline - time.monotonic()):
                    waiting.unregister(key.fileobj)  # nobody writes: what can be read is the end


def hear_the_end(place: "tuple[str, int]") -> None:
    """In a thread: when the first task is gone, this one gets the signal that stops it."""
    line = socket.create_connection(place, 30.0)
    line.settimeout(None)

    def wait() -> None:
        with contextlib.suppress(OSError):
            line.recv(1)
        os.kill(os.getpid(), signal.SIGUSR2)

    threading.Thread(target=wait, daemon=True).start()


def say(text: str) -> None:
    print("voyageur: %s" % text, file=sys.stderr, flush=True)
