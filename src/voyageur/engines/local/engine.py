"""Starts, finds and cancels local jobs. Each has a keeper: a process of its own that outlives the terminal."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from voyageur.engines.local.jobs import READY, LocalJob, Spool, is_alive, is_silent, old
from voyageur.engines.local.place import here
from voyageur.engines.model import Again, Sought
from voyageur.errors import ClusterError
from voyageur.record import Run, Sighting
from voyageur.runtime import folder as files
from voyageur.slurm_text import JobRow
from voyageur.units import Duration

_SUBMISSION = "s1"
_READY_SECONDS = 20.0
_KEEPER_START_SECONDS = 30.0  # whoever submitted has given up before that


class LocalEngine:
    def __init__(self, spool: Path) -> None:
        self.spool = Spool(spool)

    # ── submit ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def submit(self, run: Run) -> str:
        job = self._start(run, _SUBMISSION)
        with contextlib.suppress(OSError):  # a full disk; the job is found again by its name
            run.note("submitted", job=job.job)
        return job.job

    def submit_again(self, run: Run, again: Again) -> str:
        return self._start(run, again.submission, again).job

    def _start(self, run: Run, submission: str, again: Again | None = None) -> LocalJob:
        try:
            job = self._spooled(run, submission, again)
        except OSError as problem:
            raise self._refused(run, "this machine cannot write down that it runs", str(problem)) from None
        if failure := self._start_keeper(job):
            with contextlib.suppress(OSError):
                self.spool.write(replace(job, state="BOOT_FAIL"))
            raise self._refused(run, "this machine could not start the run", failure)
        return job

    def _spooled(self, run: Run, submission: str, again: Again | None) -> LocalJob:
        job = replace(self._job(run, self.spool.new_id()), arguments=(submission,))
        if again and again.time:
            job = replace(job, time_limit=again.time.seconds)
        if again and again.pieces:
            job = replace(job, array=tuple(range(1, again.pieces + 1)))
        self.spool.write(job)
        self.spool.forget_old(old())
        return job

    def _job(self, run: Run, number: str) -> LocalJob:
        plan = msgspec.json.decode((run.folder / files.PLAN).read_bytes())
        shape, chain = plan["resources"], plan.get("chain")
        pieces = chain["pieces"]["value"] if chain else 1
        return LocalJob(
            job=number,
            name=run.record.job_name,
            folder=str(run.folder),
            script=str(run.script),
            arguments=(),
            nodes=shape["nodes"]["value"],
            tasks_per_node=shape["tasks_per_node"]["value"],
            cpus_per_task=shape["cpus_per_task"]["value"],
            time_limit=run.record.time_limit,
            warn=Duration.parse(plan["warn"]["value"]).seconds,
            kill_wait=10,
            array=tuple(range(1, pieces + 1)) if pieces > 1 else (),
            place=here(),
            submitted=time.time(),
        )

    def _refused(self, run: Run, what: str, reason: str) -> ClusterError:
        with contextlib.suppress(OSError):
            run.note("refused", reason=f"{what}: {reason}")
        with contextlib.suppress(OSError):
            run.forget_secrets()
        return ClusterError(
            what,
            facts=[reason, f"script: {run.script} (kept)"],
            hint=f"nothing was started; can {self.spool.folder} be written, and is there room? "
            "XDG_STATE_HOME chooses another place",
        )

    def _start_keeper(self, job: LocalJob) -> str:
        """In a session of its own, with nothing open towards the terminal. What went wrong; nothing, if it is ready."""
        argv = [sys.executable, "-m", "voyageur.engines.local.keeper", str(self.spool.folder), job.job]
        try:
            process = subprocess.Popen(
                argv,
                start_new_session=True,
                stdin=subprocess.DEVNULL,
                cwd="/",
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
        except OSError as problem:
            return str(problem)
        said = _heard(process, time.monotonic() + _READY_SECONDS)
        if said[-1:] == [READY]:
            return ""
        process.kill()
        process.wait()
        return said[-1] if said else f"its keeper did not answer in {_READY_SECONDS:.0f} s"

    # ── look ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def look(self, sought: Sequence[Sought]) -> dict[str, Sighting]:
        return {one.key: self._sighting(one) for one in sought}

    def _sighting(self, one: Sought) -> Sighting:
        job = self._find(one.job, one.job_name) if one.job else self.spool.find(one.job_name)
        if job is None:
            return Sighting(answered=True)
        if job.has_ended:
            return _seen(job, job.state)
        if not job.place.is_here():
            if is_silent(job, one.key):
                return _seen(job, "NODE_FAIL")
            return Sighting(answered=False, problem=f"it runs on {job.place.in_words()}")
        return self._seen_here(job)

    def _find(self, number: str, name: str) -> LocalJob | None:
        """Another state folder may have another job of this number."""
        job = self.spool.read(number)
        return job if job and job.name == name else None

    def _seen_here(self, job: LocalJob) -> Sighting:
        if job.state == "RUNNING" and not is_alive(job):
            now = self._find(job.job, job.name) or job  # it may have ended between the two looks
            return _seen(now, now.state if now.has_ended else "NODE_FAIL")  # else a restart, or somebody killed it
        if job.state == "PENDING" and time.time() - job.submitted > _KEEPER_START_SECONDS:
            return _seen(job, "BOOT_FAIL")  # whoever submitted it was killed before the keeper was there
        return _seen(job, job.state)

    # ── cancel ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def stop(self, run: Run) -> None:
        """Its keeper hands the warning on, and starts nothing after it."""
        self._tell(run, signal.SIGUSR1)

    def cancel(self, run: Run) -> None:
        self._tell(run, signal.SIGTERM)

    def _tell(self, run: Run, signum: signal.Signals) -> None:
        job = self._settled(run)
        if job is None:
            raise _not_cancelled(run, f"{self.spool.folder} does not know it", "cancel it where it was submitted")
        if job.has_ended:
            return
        if not job.place.is_here():
            raise _not_cancelled(run, f"it runs on {job.place.in_words()}", f"there, type `voy cancel {run.id}`")
        if not is_alive(job):
            raise _not_cancelled(run, "nobody watches it any more", f"`voy status {run.id}` tells what became of it")
        try:
            os.kill(job.keeper, signum)
        except ProcessLookupError:
            return
        except OSError as problem:
            raise _not_cancelled(run, str(problem), "cancel it as the user who submitted it") from None

    def _settled(self, run: Run) -> LocalJob | None:
        """Its job, once it has a keeper that could be asked; one that was submitted just now gets it in a moment."""
        while True:
            job = self._find(run.job or "", run.record.job_name) or self.spool.find(run.record.job_name)
            if not job or job.state != "PENDING" or time.time() - job.submitted > _KEEPER_START_SECONDS:
                return job
            time.sleep(0.05)


def _heard(process: subprocess.Popen[bytes], deadline: float) -> list[str]:
    """The lines that a keeper says until it is ready, has ended, or is late."""
    assert process.stdout is not None
    said = b""
    with process.stdout as pipe:
        while select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))[0]:
            block = os.read(pipe.fileno(), 1 << 16)
            said += block
            if not block or said.endswith(f"{READY}\n".encode()):
                break
    return [line for line in said.decode(errors="replace").splitlines() if line.strip()]


def _seen(job: LocalJob, state: str) -> Sighting:
    row = JobRow(
        job=job.job,
        name=job.name,
        state=state,
        exit_code=job.exit_code,
        signal=job.signal,
        node_list=job.node_list,
        ended=True,
    )
    return Sighting(answered=True, row=row)


def _not_cancelled(run: Run, fact: str, hint: str) -> ClusterError:
    return ClusterError(f"{run.id} was not cancelled", facts=[fact], hint=hint)
