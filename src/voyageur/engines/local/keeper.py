"""Watches one local job as slurmd would: its variables, its log, its time limit with a warning, its end."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from msgspec.structs import replace

from voyageur.engines.local.jobs import LocalJob, Spool, started_at
from voyageur.plan.environment import INHERITED
from voyageur.runtime import processes
from voyageur.runtime.child import Mailbox
from voyageur.runtime.folder import LOG

_STANDARD_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Keeper:
    def __init__(self, spool: Spool, job: LocalJob, tools: Path) -> None:
        self.spool = spool
        self.job = job
        self.tools = tools
        self.cancelled = False
        self.timed_out = False

    def run(self, mailbox: Mailbox) -> None:
        self._update(
            state="RUNNING",
            keeper=os.getpid(),
            keeper_started=started_at(os.getpid()),
            node_list=",".join(node_names(self.job.nodes)),
        )
        sys.stdout.write("ready\n")
        sys.stdout.close()
        codes = [self._run_script(mailbox, extra) for extra in self._array()]
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
            if not self.cancelled:
                yield {
                    "SLURM_ARRAY_JOB_ID": self.job.job,
                    "SLURM_ARRAY_TASK_ID": str(index),
                    "SLURM_ARRAY_TASK_COUNT": str(len(self.job.array)),
                    "SLURM_ARRAY_TASK_MIN": str(min(self.job.array)),
                    "SLURM_ARRAY_TASK_MAX": str(max(self.job.array)),
                }

    def _run_script(self, mailbox: Mailbox, extra: dict[str, str]) -> int:
        with open(Path(self.job.folder) / LOG, "ab") as log:
            process = subprocess.Popen(
                [self.job.script, *self.job.arguments],
                cwd=self.job.folder,
                env=self._environment() | extra,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=processes.at_parents_death(signal.SIGTERM),  # nobody would watch its time any more
            )
            code = self._watch(process, mailbox)
            processes.kill_orphans()
            return code

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
                if signum in (signal.SIGTERM, signal.SIGINT) and not self.cancelled:
                    self.cancelled = True
                    process.send_signal(signal.SIGTERM)
                    kill = time.monotonic() + self.job.kill_wait
        return code

    def _environment(self) -> dict[str, str]:
        """What a job finds on a node: who it is, and what Slurm would tell it. The login shell adds the rest."""
        nodes = node_names(self.job.nodes)
        inherited = {name: os.environ[name] for name in INHERITED if name in os.environ}
        return inherited | {
            "PATH": _STANDARD_PATH,
            "VOY_LOCAL_TOOLS": str(self.tools),
            "SLURM_JOB_ID": self.job.job,
            "SLURM_JOBID": self.job.job,
            "SLURM_JOB_NAME": self.job.name,
            "SLURM_JOB_NUM_NODES": str(self.job.nodes),
            "SLURM_NNODES": str(self.job.nodes),
            "SLURM_JOB_NODELIST": ",".join(nodes),
            "SLURM_NODELIST": ",".join(nodes),
            "SLURM_NTASKS": str(self.job.nodes * self.job.tasks_per_node),
            "SLURM_NTASKS_PER_NODE": str(self.job.tasks_per_node),
            "SLURM_CPUS_PER_TASK": str(self.job.cpus_per_task),
            "SLURM_SUBMIT_DIR": self.job.folder,
            "SLURM_CLUSTER_NAME": "local",
            "SLURM_NODEID": "0",
            "SLURM_PROCID": "0",
            "SLURM_LOCALID": "0",
            "SLURMD_NODENAME": nodes[0],
        }


def node_names(count: int) -> list[str]:
    return [f"local{number}" for number in range(1, count + 1)]


def write_tools(folder: Path) -> None:
    """`srun` and `scontrol` for the job's PATH, as small files that start ours."""
    for name in ("srun", "scontrol"):
        program = Path(__file__).with_name(f"{name}.py")
        tool = folder / name
        tool.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{program}" "$@"\n')
        tool.chmod(0o755)


def main(spool_folder: str, number: str) -> int:
    mailbox = Mailbox()
    os.umask(0o077)
    processes.adopt_orphans()
    spool = Spool(Path(spool_folder))
    job = spool.read(number)
    if job is None:
        return 1
    tools = Path(tempfile.mkdtemp(prefix="voy-tools-"))
    try:
        write_tools(tools)
        Keeper(spool, job, tools).run(mailbox)
    finally:
        shutil.rmtree(tools)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
