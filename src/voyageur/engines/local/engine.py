"""Starts, finds and cancels local jobs. Each has a keeper: a process of its own that outlives the terminal."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from voyageur.engines.local.jobs import LocalJob, Spool, is_alive, old
from voyageur.engines.model import Sought
from voyageur.errors import ClusterError
from voyageur.record import Run, Sighting
from voyageur.runtime import folder as files
from voyageur.slurm_text import JobRow
from voyageur.units import Duration

_SUBMISSION = "s1"
_KEEPER_START_SECONDS = 30.0


class LocalEngine:
    def __init__(self, spool: Path) -> None:
        self.spool = Spool(spool)

    def submit(self, run: Run) -> str:
        job = self._job(run, self.spool.new_id())
        self.spool.write(job)
        self.spool.forget_old(old())
        run.note("submitted", job=job.job)
        self._start_keeper(job)
        return job.job

    def _job(self, run: Run, number: str) -> LocalJob:
        plan = msgspec.json.decode((run.folder / files.PLAN).read_bytes())
        shape = plan["resources"]
        return LocalJob(
            job=number,
            name=run.record.job_name,
            folder=str(run.folder),
            script=str(run.script),
            arguments=(_SUBMISSION,),
            nodes=shape["nodes"]["value"],
            tasks_per_node=shape["tasks_per_node"]["value"],
            cpus_per_task=shape["cpus_per_task"]["value"],
            time_limit=run.record.time_limit,
            warn=Duration.parse(plan["warn"]["value"]).seconds,
            kill_wait=10,
            submitted=time.time(),
        )

    def _start_keeper(self, job: LocalJob) -> None:
        """In a session of its own, with nothing open towards the terminal."""
        argv = [sys.executable, "-m", "voyageur.engines.local.keeper", str(self.spool.folder), job.job]
        try:
            process = subprocess.Popen(
                argv,
                start_new_session=True,
                stdin=subprocess.DEVNULL,
                cwd="/",
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        except OSError as problem:
            self.spool.write(replace(job, state="FAILED", exit_code=1))
            raise ClusterError("this machine could not start the run", facts=[str(problem)]) from None
        assert process.stdout is not None
        process.stdout.readline()  # the keeper has written down who it is

    def look(self, sought: Sequence[Sought]) -> dict[str, Sighting]:
        return {one.key: self._sighting(one) for one in sought}

    def _sighting(self, one: Sought) -> Sighting:
        job = self.spool.read(one.job)
        if job is None or job.name != one.job_name:
            return Sighting(answered=True)
        state = job.state
        if state == "RUNNING" and not is_alive(job):
            state = "NODE_FAIL"  # the machine was restarted, or somebody killed the keeper
        elif state == "PENDING" and time.time() - job.submitted > _KEEPER_START_SECONDS:
            state = "BOOT_FAIL"  # whoever submitted it was killed before the keeper was there
        return Sighting(
            answered=True,
            row=JobRow(
                job=job.job,
                name=job.name,
                state=state,
                exit_code=job.exit_code,
                signal=job.signal,
                node_list=job.node_list,
                ended=True,
            ),
        )

    def find(self, run: Run) -> str | None:
        job = self.spool.find(run.record.job_name)
        return job.job if job else None

    def never_arrived(self, run: Run) -> bool:
        return self.find(run) is None

    def cancel(self, run: Run) -> None:
        job = self.spool.read(run.job or "")
        if job is not None and is_alive(job):
            os.kill(job.keeper, signal.SIGTERM)
