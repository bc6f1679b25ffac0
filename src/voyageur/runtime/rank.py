"""One worker of somebody else's launcher: its lines get its rank in front, and its death is written down first."""

import contextlib
import os
import selectors
import signal
import subprocess
import sys
import time
from typing import Callable, Dict, List, Mapping

from voyageur.runtime import abort, blanks, inside, processes, world
from voyageur.runtime.child import SRUNS_OWN
from voyageur.runtime.folder import append_event
from voyageur.runtime.program import node_name

_LAST = 12  # lines that are kept for whoever asks how it died
_LONGEST = 1 << 16


class Lines:
    """One of the worker's two streams, carried on in whole lines. `heard`: what is to be done with each first."""

    def __init__(self, prefix: bytes, target: int, last: List[str], heard: Callable[[bytes], None]) -> None:
        self.prefix, self.target, self.last, self.heard = prefix, target, last, heard
        self.rest = b""

    def carry(self, block: bytes) -> None:
        *lines, self.rest = (self.rest + block).split(b"\n")
        if self.rest and (not block or len(self.rest) > _LONGEST):
            lines, self.rest = [*lines, self.rest], b""
        for line in lines:
            self.last.append(line.decode("utf-8", "replace")[:300])
            self.heard(line)
            self._write(self.prefix + line + b"\n")
        del self.last[:-_LAST]

    def _write(self, text: bytes) -> None:
        with contextlib.suppress(BrokenPipeError):
            while text:
                text = text[os.write(self.target, text) :]


class Aborting:
    """A rank that ends an MPI program says so. Then mpirun kills all of us, and may lose the lines it was handed."""

    def __init__(self, environment: Mapping[str, str], rank: str, last: List[str]) -> None:
        self.environment, self.rank, self.last = environment, rank, last
        self.is_told = False

    def hear(self, line: bytes) -> None:
        if self.is_told or self.environment.get("VOY_ABORTS") != "1":
            return
        problem = abort.PROBLEM if abort.is_said_in(line) else world.problem_in(line)
        if problem:
            self.is_told = True
            _write_down(self.environment, self.rank, problem, 1, self.last[-_LAST:], first=True)


def run(command: List[str]) -> int:
    environment = dict(os.environ)
    rank = environment.get("RANK") or str(blanks.rank_of(environment))
    prefix = b"%s: " % rank.encode()
    for signum in SRUNS_OWN:
        signal.signal(signum, signal.SIG_IGN)
    try:
        child = _start(command, environment)
    except OSError as problem:
        _write_down(environment, rank, "%s cannot be started: %s" % (command[0], problem.strerror), 127, [])
        print("voyageur: %s cannot be started: %s" % (command[0], problem.strerror), file=sys.stderr, flush=True)
        return 127
    stopped: List[int] = []
    hidden = inside.recipe_of(environment).get("environment", "host") != "host"
    for signum in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(signum, lambda number, _: _pass_on(child.pid, number, stopped, hidden))
    last: List[str] = []
    aborting = Aborting(environment, rank, last)
    _carry(child, [Lines(prefix, target, last, aborting.hear) for target in (1, 2)])
    code = child.wait()
    if code and not stopped and not aborting.is_told:
        _write_down(environment, rank, "", code, last)
    return _as_it_ended(code)


def _start(command: List[str], environment: Dict[str, str]) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        close_fds=False,  # MPICH's ranks speak to mpirun through a descriptor that is open already
        preexec_fn=processes.at_parents_death(signal.SIGKILL, restores=blanks.signals_left_alone(environment)),
    )


def _pass_on(pid: int, signum: int, stopped: List[int], only_inside: bool) -> None:
    stopped.append(signum)
    if not processes.tell(pid, signum, only_inside):
        processes.signal_all(pid, signum)


def _carry(child: "subprocess.Popen[bytes]", streams: List[Lines]) -> None:
    """Until both are closed, or the worker has ended and what it left behind holds them open."""
    with selectors.DefaultSelector() as selector:
        for pipe, stream in ((child.stdout, streams[0]), (child.stderr, streams[1])):
            assert pipe is not None
            os.set_blocking(pipe.fileno(), False)
            selector.register(pipe, selectors.EVENT_READ, stream)
        while selector.get_map():
            ended = child.poll() is not None
            ready = selector.select(0 if ended else 0.5)
            for key, _ in ready:
                block = os.read(key.fd, 1 << 16)
                key.data.carry(block)
                if not block:
                    selector.unregister(key.fileobj)
            if ended and not ready:
                break
    for stream in streams:
        stream.carry(b"")


def _write_down(
    environment: Mapping[str, str], rank: str, problem: str, code: int, last: List[str], first: bool = False
) -> None:
    facts: Dict[str, object] = {**({"problem": problem} if problem else {}), **({"first": True} if first else {})}
    with contextlib.suppress(OSError):
        append_event(
            environment["VOY_RUN_DIR"],
            "task failed",
            attempt=int(environment.get("VOY_ATTEMPT", "0")),
            rank=int(rank),
            node=_node(environment),
            round=int(environment.get("TORCHELASTIC_RESTART_COUNT", "0")),
            code=code,
            ended=time.time(),
            last=last,
            **facts,
        )


def _node(environment: Mapping[str, str]) -> str:
    return environment.get("NODE_NAME") or node_name(environment)


def _as_it_ended(code: int) -> int:
    """Killed by a signal is told to the launcher by dying of the same."""
    if code >= 0:
        return code
    with contextlib.suppress(OSError, ValueError):
        signal.signal(-code, signal.SIG_DFL)
    with contextlib.suppress(OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.kill(os.getpid(), -code)
    return 128 - code
