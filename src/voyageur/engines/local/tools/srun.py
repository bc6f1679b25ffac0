"""`srun` on a machine without Slurm: every node is a few processes here."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
import time

from .layout import Place, Refused, choose_nodes, place_tasks, shares, shares_in_words
from .names import Node, nodes
from .options import Options, read_options
from .output import Stream, Targets

# What Slurm's srun hands on to its tasks as it is; a SIGTERM ends them all by force, as there.
HANDED_ON = (signal.SIGUSR1, signal.SIGUSR2, signal.SIGHUP, signal.SIGALRM)
_KILL_AFTER = 10.0  # seconds after a request to end, as for the whole job
_STEP = "0"
_VERSION = "slurm 22.05.8"  # whose manners these are; Open MPI's mpirun asks


def main(arguments: list[str]) -> int:
    if arguments in (["-V"], ["--version"]):
        sys.stdout.write(f"{_VERSION}\n")
        return 0
    try:
        options = read_options(arguments, os.environ)
        job = nodes(int(os.environ.get("SLURM_JOB_NUM_NODES", "1")))
        chosen = choose_nodes(job, options.nodes, options.node_list, options.tasks)
        _warn(options, len(chosen))
        return Step(options, chosen).run()
    except Refused as problem:
        _say(f"error: {problem}")
        return 1


def _say(text: str) -> None:
    sys.stderr.write(f"srun: {text}\n")
    sys.stderr.flush()


def _warn(options: Options, chosen: int) -> None:
    """Where Slurm's srun does something else than was typed, and says so."""
    if options.tasks_per_node and options.tasks_per_node * chosen != options.tasks:
        _say(f"warning: {options.tasks} tasks on {chosen} nodes: --ntasks-per-node={options.tasks_per_node} is ignored")
    if options.nodes_asked and options.tasks < int(options.nodes.partition("-")[0]):
        _say(f"warning: {options.tasks} tasks need no more than {chosen} nodes")


class Step:
    def __init__(self, options: Options, chosen: list[Node]) -> None:
        self.options = options
        self.nodes = chosen
        self.tasks: list[subprocess.Popen[bytes]] = []
        self.streams: list[Stream] = []
        self.selector = selectors.DefaultSelector()
        self.is_forced = False
        self.end_at = float("inf")
        self.kill_at: float | None = None

    def run(self) -> int:
        self._hear_signals()
        try:
            self._start_all()
        except OSError as problem:
            self._kill()
            _say(f"error: {self.options.command[0]}: {problem.strerror}")
            return problem.errno or 1
        while any(task.poll() is None for task in self.tasks):
            self._carry(self._mind_ends())
        for stream in self.streams:
            stream.drain()
        return max((_shell_code(task.returncode) for task in self.tasks), default=128 + signal.SIGTERM)

    # ── signals ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def _hear_signals(self) -> None:
        reader, writer = os.pipe()
        for descriptor in (reader, writer):
            os.set_blocking(descriptor, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        self.selector.register(reader, selectors.EVENT_READ)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for signum in HANDED_ON:
            signal.signal(signum, lambda signum, _: self._signal(signum))
        for signum in (signal.SIGTERM, signal.SIGINT):
            signal.signal(signum, lambda *_: self._force())

    def _signal(self, signum: int) -> None:
        for task in self.tasks:
            task.send_signal(signum)

    def _force(self) -> None:
        self.is_forced = True
        _say("forcing job termination")
        self._kill()

    def _kill(self) -> None:
        self._signal(signal.SIGKILL)

    # ── start ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _start_all(self) -> None:
        if self.options.folder and not os.path.isdir(self.options.folder):
            raise Refused(f"--chdir: there is no folder {self.options.folder}")
        places = place_tasks(self.options.tasks, len(self.nodes), self.options.is_cyclic)
        targets = Targets(self.options.appends, _facts())
        asked = ((self.options.output, 1), (self.options.error, 2))
        # All files are open before the first task starts.
        opened = [[targets.descriptor(*one, place, self.nodes[place.node].name) for one in asked] for place in places]
        for place, descriptors in zip(places, opened, strict=True):
            if not self.is_forced:
                self._start(place, descriptors)

    def _start(self, place: Place, descriptors: list[int]) -> None:
        read = _input(self.options.input, place.rank, self.options.tasks)
        task = subprocess.Popen(
            self.options.command,
            cwd=self.options.folder or None,
            env=_exported(self.options.export) | self._variables(place),
            stdin=read,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.tasks.append(task)
        if read is not None and read >= 0:
            os.close(read)
        prefix = b"%d: " % place.rank if self.options.labels else b""
        in_lines = self.options.labels or (self.options.tasks > 1 and not self.options.unbuffered)
        for source, target in zip((task.stdout, task.stderr), descriptors, strict=True):
            assert source is not None
            stream = Stream(source, target, prefix, in_lines)
            self.streams.append(stream)
            self.selector.register(source, selectors.EVENT_READ, stream)

    def _variables(self, place: Place) -> dict[str, str]:
        """What Slurm tells a task beyond what it tells the job."""
        node, count = self.nodes[place.node], str(self.options.tasks)
        each = shares_in_words(shares(self.options.tasks, len(self.nodes)))
        variables = {
            "SLURM_PROCID": str(place.rank),
            "SLURM_LOCALID": str(place.local),
            "SLURM_NODEID": str(place.node),
            "SLURM_NTASKS": count,
            "SLURM_NPROCS": count,
            "SLURM_NNODES": str(len(self.nodes)),
            "SLURM_TASKS_PER_NODE": each,
            "SLURM_STEP_ID": _STEP,
            "SLURM_STEPID": _STEP,
            "SLURM_STEP_NUM_TASKS": count,
            "SLURM_STEP_NUM_NODES": str(len(self.nodes)),
            "SLURM_STEP_NODELIST": ",".join(node.address for node in self.nodes),
            "SLURM_STEP_TASKS_PER_NODE": each,
            "SLURM_LAUNCH_NODE_IPADDR": self.nodes[0].address,
            "SLURMD_NODENAME": node.name,
        }
        asked = {"SLURM_CPUS_PER_TASK": self.options.cpus_per_task, "SLURM_JOB_NAME": self.options.job_name}
        return variables | {name: value for name, value in asked.items() if value}

    # ── while they run ───────────────────────────────────────────────────────────────────────────────────────────────

    def _carry(self, patience: float) -> None:
        for key, _ in self.selector.select(None if patience == float("inf") else max(0.0, patience)):
            if key.data is None:
                os.read(key.fd, 512)
            elif not key.data.copy():
                self.selector.unregister(key.fileobj)

    def _mind_ends(self) -> float:
        """A failed task may end the step; so may one that ended long before the others. Seconds to the next look."""
        now = time.monotonic()
        if self.kill_at is None:
            self.end_at = min(self.end_at, self._end_by(now))
            if now >= self.end_at:
                self.kill_at = now + _KILL_AFTER
                self._signal(signal.SIGTERM)
        elif now >= self.kill_at:
            self.kill_at = now + _KILL_AFTER
            self._kill()
        return (self.end_at if self.kill_at is None else self.kill_at) - now

    def _end_by(self, now: float) -> float:
        ended = [task.returncode for task in self.tasks if task.poll() is not None]
        if self.options.ends_with_first_failure and any(ended):
            return now
        return now + self.options.wait if self.options.wait and ended else float("inf")


def _facts() -> dict[str, str]:
    job = os.environ.get("SLURM_JOB_ID", "0")
    return {"j": job, "s": _STEP, "J": f"{job}.{_STEP}", "u": os.environ.get("USER", str(os.getuid()))}


def _exported(asked: str) -> dict[str, str]:
    """ALL, NONE, or names and assignments; what Slurm itself tells a task is always there."""
    words = asked.split(",")
    keeps_all = "ALL" in words
    kept = {name: value for name, value in os.environ.items() if keeps_all or name in words or name.startswith("SLURM")}
    return kept | {name: value for name, equals, value in (word.partition("=") for word in words) if equals}


def _input(asked: str, rank: int, tasks: int) -> int | None:
    """A single task reads what srun reads; of several, the one that `--input` names, or all of them one file."""
    if asked.isdecimal():
        return None if int(asked) == rank else subprocess.DEVNULL
    if asked in ("", "all"):
        return None if tasks == 1 else subprocess.DEVNULL
    if asked == "none":
        return subprocess.DEVNULL
    try:
        return os.open(asked, os.O_RDONLY)
    except OSError as problem:
        raise Refused(f"cannot read {asked}: {problem.strerror}") from None


def _shell_code(code: int) -> int:
    return 128 - code if code < 0 else code
