"""Watches one local job as slurmd would: its variables, its log, its time limit with a warning, its end."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from msgspec.structs import replace

from voyageur.engines.local.jobs import READY, LocalJob, Spool
from voyageur.engines.local.place import here, started_at
from voyageur.engines.local.toolbox import put_tools
from voyageur.engines.local.tools.layout import shares_in_words
from voyageur.engines.local.tools.names import addresses, nodes
from voyageur.engines.local.tools.scontrol import AGAIN
from voyageur.runtime import processes
from voyageur.runtime.chain import OVER
from voyageur.runtime.child import Mailbox
from voyageur.runtime.folder import LOG, MARKER, read_json
from voyageur.runtime.inherited import job_variables

# A shell's `&` ignores the first two for what it starts, nohup the third: a job must not depend on who submitted it.
_BY_DEFAULT = (
    signal.SIGINT,
    signal.SIGQUIT,
    signal.SIGHUP,
    signal.SIGTERM,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGPIPE,
    signal.SIGALRM,
    signal.SIGCHLD,
    signal.SIGTSTP,
    signal.SIGTTIN,
    signal.SIGTTOU,
    signal.SIGCONT,
    signal.SIGXFSZ,
)


class Keeper:
    def __init__(self, spool: Spool, job: LocalJob, tools: Path) -> None:
        self.spool = spool
        self.job = job
        self.tools = tools
        self.cancelled = False
        self.timed_out = False
        self.stopping = False

    def run(self, mailbox: Mailbox) -> None:
        self._update(
            state="RUNNING",
            keeper=os.getpid(),
            keeper_started=started_at(os.getpid()),
            place=here(),
            node_list=",".join(node.name for node in nodes(self.job.nodes)),
        )
        _say_ready()
        codes = [self._run_task(mailbox, extra) for extra in self._array()]
        worst = next((code for code in codes if code != 0), 0)
        self._update(state=self._state(worst), exit_code=max(worst, 0), signal=max(-worst, 0))

    def _update(self, **changes: object) -> None:
        self.job = replace(self.job, **changes)
        self.spool.write(self.job)

    def _state(self, code: int) -> str:
        if self.cancelled:
            return "CANCELLED"
        if self.timed_out:
            return "TIMEOUT"
        return "FAILED" if code else "COMPLETED"

    def _array(self) -> Iterator[dict[str, str]]:
        """An array's tasks one after another; a job without an array is one task."""
        if not self.job.array:
            yield {}
        for index in self.job.array:
            if not (self.cancelled or self.stopping or is_over(self.job.folder)):
                yield {
                    "SLURM_ARRAY_JOB_ID": self.job.job,
                    "SLURM_ARRAY_TASK_ID": str(index),
                    "SLURM_ARRAY_TASK_COUNT": str(len(self.job.array)),
                    "SLURM_ARRAY_TASK_MIN": str(min(self.job.array)),
                    "SLURM_ARRAY_TASK_MAX": str(max(self.job.array)),
                }

    def _run_task(self, mailbox: Mailbox, extra: dict[str, str]) -> int:
        """As often as it puts itself back into the queue, which here is empty."""
        while True:
            self.timed_out = False
            code = self._run_script(mailbox, extra)
            if not self._wants_to_run_again():
                return code

    def _wants_to_run_again(self) -> bool:
        file = self.spool.again(self.job.job)
        asked = file.exists()
        file.unlink(missing_ok=True)
        return asked and not (self.cancelled or self.stopping or is_over(self.job.folder))

    def _run_script(self, mailbox: Mailbox, extra: dict[str, str]) -> int:
        try:
            process = self._start_script(extra)
        except OSError as problem:
            return self._explain(problem)
        code = self._watch(process, mailbox)
        processes.kill_orphans()
        return code

    def _start_script(self, extra: dict[str, str]) -> subprocess.Popen[bytes]:
        with open(self._log, "ab") as log:
            return subprocess.Popen(
                [self.job.script, *self.job.arguments],
                cwd=self.job.folder,
                env=self._environment() | extra,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=_begin_afresh,
            )

    @property
    def _log(self) -> Path:
        return Path(self.job.folder) / LOG

    def _explain(self, problem: OSError) -> int:
        with contextlib.suppress(OSError), open(self._log, "a") as log:
            log.write(f"voyageur: the script cannot be started: {problem}\n")
        return 126

    def _watch(self, process: subprocess.Popen[bytes], mailbox: Mailbox) -> int:
        start = time.monotonic()
        limit, warn = start + self.job.time_limit, start + self.job.time_limit - self.job.warn
        kill = float("inf")
        while (code := process.poll()) is None:
            now = time.monotonic()
            if now >= warn:
                process.send_signal(signal.SIGUSR1)
                warn = float("inf")
            if now >= limit:
                self.timed_out = True
                process.send_signal(signal.SIGTERM)
                limit, kill = float("inf"), now + self.job.kill_wait
            if now >= kill:
                processes.kill_all(process.pid)
            for signum in mailbox.wait(min(warn, limit, kill, now + 60) - now):
                if signum == signal.SIGUSR1:
                    self.stopping = True
                    process.send_signal(signum)
                if signum in (signal.SIGTERM, signal.SIGINT) and not self.cancelled:
                    self.cancelled = True
                    process.send_signal(signal.SIGTERM)
                    kill = time.monotonic() + self.job.kill_wait
        return code

    def _environment(self) -> dict[str, str]:
        """What a job finds on a node: who it is, and what Slurm would tell it. The login shell adds the rest."""
        tasks = self.job.nodes * self.job.tasks_per_node
        return job_variables(os.environ) | {
            "VOY_LOCAL_TOOLS": str(self.tools),
            AGAIN: str(self.spool.again(self.job.job)),
            "VOY_LOCAL_NAMES": ",".join(node.name for node in nodes(self.job.nodes)),
            "SLURM_JOB_ID": self.job.job,
            "SLURM_JOBID": self.job.job,
            "SLURM_JOB_NAME": self.job.name,
            "SLURM_JOB_NUM_NODES": str(self.job.nodes),
            "SLURM_NNODES": str(self.job.nodes),
            "SLURM_JOB_NODELIST": addresses(self.job.nodes),
            "SLURM_NODELIST": addresses(self.job.nodes),
            "SLURM_NTASKS": str(tasks),
            "SLURM_NPROCS": str(tasks),
            "SLURM_TASKS_PER_NODE": shares_in_words([self.job.tasks_per_node] * self.job.nodes),
            "SLURM_NTASKS_PER_NODE": str(self.job.tasks_per_node),
            "SLURM_CPUS_PER_TASK": str(self.job.cpus_per_task),
            "SLURM_SUBMIT_DIR": self.job.folder,
            "SLURM_CLUSTER_NAME": "local",
            "SLURM_NODEID": "0",
            "SLURM_PROCID": "0",
            "SLURM_LOCALID": "0",
            "SLURMD_NODENAME": nodes(1)[0].name,
        }


def is_over(folder: str) -> bool:
    """The run's own marker says so: nothing is left for a further piece to do."""
    marker = read_json(os.path.join(folder, MARKER))
    return bool(marker and marker.get("end") in OVER)


def _say_ready() -> None:
    """Whoever submitted may be gone by now. From here on nothing of theirs is held open."""
    with contextlib.suppress(BrokenPipeError):
        os.write(sys.stdout.fileno(), f"{READY}\n".encode())
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        os.dup2(nowhere, stream.fileno())


def _begin_afresh() -> None:
    """In the script's process, before the script: it ends with its keeper, for nobody would watch its time."""
    for signum in _BY_DEFAULT:
        signal.signal(signum, signal.SIG_DFL)
    processes.at_parents_death(signal.SIGTERM)()


def main(spool_folder: str, number: str) -> int:
    mailbox = Mailbox()
    signal.pthread_sigmask(signal.SIG_SETMASK, ())  # a blocked SIGTERM would make it deaf to `voy cancel`
    os.umask(0o077)
    processes.adopt_orphans()
    spool = Spool(Path(spool_folder))
    job = spool.read(number)
    if job is None:
        sys.stderr.write(f"there is no job {number} in {spool_folder}\n")
        return 1
    Keeper(spool, job, put_tools(spool.folder)).run(mailbox)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
