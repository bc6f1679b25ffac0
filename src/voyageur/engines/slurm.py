"""Slurm, through its own commands.

sbatch says "Socket timed out" in the same words for a job that it took and for one that never arrived. So the intent
is on disk before sbatch, the token is in the job's name, an unknown outcome is looked up and never blindly repeated,
and a job that comes twice all the same finds the claim taken and leaves.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import PurePosixPath

from voyageur import slurm_text
from voyageur.engines.model import Again, Sought
from voyageur.errors import ClusterError
from voyageur.hosts import Answer, Host
from voyageur.record import Run, Sighting
from voyageur.runtime.inherited import job_variables
from voyageur.site import Site, site_from_answers
from voyageur.slurm_text import JobRow, Phase, Reply
from voyageur.slurm_text.submitting import changed
from voyageur.units import Duration

_PATIENCE = Duration(60)
MESSAGE_TIMEOUT = Duration(10)  # Slurm's own default for how long a client waits for the controller
_SUBMISSION = "s1"
_DISABLED = "storage is disabled"
_CLOCKS_APART = 600.0  # seconds by which a controller's clock may be off from ours


def ask_site(host: Host) -> Site:
    """The site that this cluster says it is."""
    nodes = _ask(host, slurm_text.nodes_argv())
    config = _ask(host, slurm_text.config_argv())
    return site_from_answers(nodes.output, config.output)


def ask_config(host: Host, patience: Duration) -> Site | None:
    """How this cluster is set up, its nodes left out; None when it does not say in time."""
    answer = host.run(slurm_text.config_argv(), patience=patience)
    return site_from_answers("", answer.output) if answer.ok else None


def cluster_name(host: Host) -> str | None:
    """As this cluster calls itself; None when it does not say."""
    answer = host.run(slurm_text.config_argv(), patience=_PATIENCE)
    return slurm_text.config_from(answer.output).get("ClusterName") if answer.ok else None


def _ask(host: Host, argv: list[str]) -> Answer:
    answer = host.run(argv, patience=_PATIENCE)
    if not answer.ok:
        raise ClusterError(
            "Slurm does not answer",
            facts=_words(answer, argv),
            hint="nothing was changed; try again in a while, or `--on local` runs it on this machine",
        )
    return answer


def _words(answer: Answer, argv: Sequence[str]) -> list[str]:
    lines = [line.strip() for line in answer.errors.splitlines() if line.strip()]
    return lines[-4:] or [f"{argv[0]} gave no answer"]


class SlurmEngine:
    def __init__(
        self, host: Host, message_timeout: Duration = MESSAGE_TIMEOUT, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self.host = host
        self.message_timeout = message_timeout
        self.sleep = sleep

    # ── submit ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def submit(self, run: Run) -> str:
        """At most one of the jobs that this may start will do any work."""
        for last_try in (False, True):
            answer = self._sbatch(run)
            reply = slurm_text.reply_from(answer.code, answer.output, answer.errors)
            if reply is Reply.ACCEPTED:
                return self._accepted(run, slurm_text.job_id_from(answer.output) or "")
            if reply is Reply.REFUSED:
                raise self._refused(run, answer)
            if reply is Reply.UNREACHED:
                raise self._unreached(run, answer)
            run.note("answer lost", reason=" / ".join(_words(answer, ["sbatch"])))
            patience = 1 if reply is Reply.UNCLEAR else 2 * self.message_timeout.seconds + 5
            if job := self._find_patiently(run, patience):
                return self._accepted(run, job)
            if not self.never_arrived(run):
                break
            if last_try or reply is Reply.UNCLEAR:  # should it arrive yet, it finds that it was refused, and leaves
                raise self._refused(run, answer)
        raise ClusterError(
            f"it is not known whether Slurm took {run.id}",
            facts=[*_words(answer, ["sbatch"]), f"script: {run.script} (kept)"],
            hint=f"do not submit it again: `voy status {run.id}` looks for it, and it can run only once",
        )

    def submit_again(self, run: Run, again: Again) -> str:
        """Repeated when its answer is lost: of two jobs of one submission the second leaves at once."""
        for pause in _growing_pauses():
            options = changed(again.time, again.memory, again.pieces, again.after, again.without)
            answer = self._sbatch(run, again.submission, options)
            reply = slurm_text.reply_from(answer.code, answer.output, answer.errors)
            if reply is Reply.ACCEPTED:
                return slurm_text.job_id_from(answer.output) or ""
            if reply is not Reply.UNKNOWN or pause > 4:
                break
            self.sleep(pause)
        raise ClusterError(
            f"Slurm did not take {run.id} once more",
            facts=_words(answer, ["sbatch"]),
            hint=slurm_text.refusal_hint(answer.errors),
        )

    def stop(self, run: Run) -> None:
        name = run.record.job_name
        for argv in (slurm_text.cancel_waiting_argv(name), slurm_text.warn_argv(name)):
            answer = self.host.run(argv, patience=_PATIENCE)
            if not answer.ok and not slurm_text.is_over(answer.errors):
                raise _not_cancelled(run, _words(answer, ["scancel"]))

    def active(self, run: Run) -> tuple[str, ...]:
        """Its jobs that wait or run."""
        answer = self.host.run(slurm_text.find_active_argv(run.record.job_name), patience=_PATIENCE)
        if not answer.ok:
            raise ClusterError("Slurm does not answer", facts=_words(answer, ["squeue"]), hint="try again in a while")
        return tuple(dict.fromkeys(slurm_text.jobs_found(answer.output)))

    def _sbatch(self, run: Run, submission: str = _SUBMISSION, options: Sequence[str] = ()) -> Answer:
        argv = slurm_text.submit_argv(PurePosixPath(run.script), submission, options)
        # Of all that sbatch itself tells a job, only its name is lost with --export-file.
        variables = job_variables(self.host.environment()) | {"SLURM_JOB_NAME": run.record.job_name}
        return self.host.run(
            argv,
            folder=PurePosixPath(run.folder),
            patience=slurm_text.SUBMIT_PATIENCE,
            read=slurm_text.export_file(variables),
        )

    def _accepted(self, run: Run, job: str) -> str:
        with contextlib.suppress(OSError):  # a full disk; the job is found again by its name
            run.note("submitted", job=job)
        return job

    def _refused(self, run: Run, answer: Answer) -> ClusterError:
        run.note("refused", reason=" / ".join(_words(answer, ["sbatch"])))
        run.forget_secrets()
        return ClusterError(
            "Slurm refused this job",
            facts=[*_words(answer, ["sbatch"]), f"script: {run.script} (kept)"],
            hint=slurm_text.refusal_hint(answer.errors),
        )

    def _unreached(self, run: Run, answer: Answer) -> ClusterError:
        run.note("refused", reason="the controller could not be reached; nothing was submitted")
        run.forget_secrets()
        return ClusterError(
            "Slurm's controller cannot be reached; nothing was submitted",
            facts=_words(answer, ["sbatch"]),
            hint="submit again when `scontrol ping` says it is up",
        )

    def _find_patiently(self, run: Run, seconds: float) -> str | None:
        """A controller that was too busy to answer sbatch may need a while to show the job."""
        deadline = time.monotonic() + seconds
        for pause in _growing_pauses():
            if job := self.find(run):
                return job
            if time.monotonic() > deadline:
                return None
            self.sleep(pause)
        return None

    def find(self, run: Run) -> str | None:
        """The job that carries this run's token in its name."""
        for argv in self._searches(run):
            try:
                answer = self.host.run(argv, patience=_PATIENCE)
            except FileNotFoundError:
                continue
            if answer.ok and (jobs := slurm_text.jobs_found(answer.output)):
                return min(jobs, key=int)
        return None

    def never_arrived(self, run: Run) -> bool:
        """Both the queue and, where there is one, the accounting answered, and neither has it.

        A request that still sits in a hung controller's socket may arrive yet; then the run's claim holds it off.
        """
        answers = [self.host.run(argv, patience=_PATIENCE) for argv in self._searches(run)]
        queue, accounting = answers
        settled = accounting.ok or _DISABLED in accounting.errors
        return queue.ok and settled and not any(slurm_text.jobs_found(answer.output) for answer in answers)

    def _searches(self, run: Run) -> list[list[str]]:
        since = datetime.fromtimestamp(run.record.created - _CLOCKS_APART)
        return [
            slurm_text.find_in_queue_argv(run.record.job_name),
            slurm_text.find_in_accounting_argv(run.record.job_name, since),
        ]

    # ── look ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def look(self, sought: Sequence[Sought]) -> dict[str, Sighting]:
        if not sought:
            return {}
        mark = os.urandom(8).hex()
        try:
            answer = self.host.run(slurm_text.queue_argv(mark), patience=_PATIENCE)
        except FileNotFoundError:
            return _all(sought, Sighting(answered=False, problem="this machine has no squeue"))
        if not answer.ok:
            return _all(sought, Sighting(answered=False, problem=_words(answer, ["squeue"])[-1]))
        queue = slurm_text.queue_rows(answer.output, mark)
        by_id = {row.job: row for row in queue}
        by_name: dict[str, JobRow] = {}
        for each in queue:
            by_name[each.name] = max(by_name.get(each.name, each), each, key=_liveliness)
        found = {one.key: Sighting(answered=True, row=row) for one in sought if (row := _own_row(one, by_id, by_name))}
        unclear = [one for one in sought if one.key not in found or _needs_exit_code(found[one.key])]
        known, lost = [one for one in unclear if one.job], [one for one in unclear if not one.job]
        return found | self._look_back(known, found) | self._look_for_names(lost, found)

    def _look_back(self, unclear: Sequence[Sought], found: dict[str, Sighting]) -> dict[str, Sighting]:
        """One question to the accounting about those that the controller has forgotten, or knows no exit code of."""
        if not unclear:
            return {}
        mark = os.urandom(8).hex()
        answer = self._ask_accounting(slurm_text.accounting_argv((one.job for one in unclear), _since(unclear), mark))
        if problem := _no_answer(answer):
            return {one.key: found.get(one.key, problem) for one in unclear}
        rows: dict[str, list[JobRow]] = {}
        for row in slurm_text.accounting_rows(answer.output, mark):
            rows.setdefault(row.job, []).append(row)
        absent = Sighting(answered=True)
        return {one.key: _from_accounting(one, rows.get(one.job, []), found.get(one.key, absent)) for one in unclear}

    def _look_for_names(self, lost: Sequence[Sought], found: dict[str, Sighting]) -> dict[str, Sighting]:
        """One question about all whose submission was not answered."""
        if not lost:
            return {}
        mark = os.urandom(8).hex()
        answer = self._ask_accounting(
            slurm_text.accounting_by_name_argv((one.job_name for one in lost), _since(lost), mark)
        )
        if problem := _no_answer(answer):
            return {one.key: found.get(one.key, problem) for one in lost}
        rows: dict[str, JobRow] = {}
        for row in slurm_text.accounting_rows(answer.output, mark):
            if not row.step and not row.was_refused:
                rows.setdefault(row.name, row)
        absent = Sighting(answered=True)
        return {
            one.key: found.get(
                one.key, Sighting(answered=True, row=rows[one.job_name]) if one.job_name in rows else absent
            )
            for one in lost
        }

    def _ask_accounting(self, argv: list[str]) -> Answer:
        try:
            return self.host.run(argv, patience=_PATIENCE)
        except FileNotFoundError:
            return Answer(code=0, output="", errors="")

    # ── cancel ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def cancel(self, run: Run) -> None:
        """All jobs that carry the run's name: its id may have been given to another job, and a lost answer may have
        left two of its own."""
        queue = self.host.run(slurm_text.find_in_queue_argv(run.record.job_name), patience=_PATIENCE)
        if not queue.ok:
            raise _not_cancelled(run, _words(queue, ["squeue"]))
        jobs = slurm_text.jobs_found(queue.output)
        if not jobs:
            raise ClusterError(f"Slurm knows no job of {run.id}", hint=f"`voy status {run.id}` looks for it")
        answer = self.host.run(slurm_text.cancel_argv(jobs), patience=_PATIENCE)
        if not answer.ok and "Invalid job id" not in answer.errors:
            raise _not_cancelled(run, _words(answer, ["scancel"]))


def _not_cancelled(run: Run, facts: list[str]) -> ClusterError:
    return ClusterError(
        f"Slurm did not cancel {run.id}",
        facts=facts,
        hint=f"`voy status {run.id}` tells whether it still runs; then cancel again",
    )


def _since(sought: Sequence[Sought]) -> datetime:
    return datetime.fromtimestamp(min(one.since for one in sought) - _CLOCKS_APART)


def _no_answer(answer: Answer) -> Sighting | None:
    if answer.ok or _DISABLED in answer.errors:
        return None
    return Sighting(answered=False, problem=_words(answer, ["sacct"])[-1])


def _growing_pauses() -> Iterator[float]:
    pause = 0.5
    while True:
        yield pause
        pause = min(pause * 2, 8.0)


def _all(sought: Sequence[Sought], sighting: Sighting) -> dict[str, Sighting]:
    return {one.key: sighting for one in sought}


_LIVELIEST = (Phase.ENDED, Phase.UNKNOWN, Phase.WAITING, Phase.ENDING, Phase.RUNNING)


def _liveliness(row: JobRow) -> int:
    return _LIVELIEST.index(row.phase)


def _own_row(one: Sought, by_id: dict[str, JobRow], by_name: dict[str, JobRow]) -> JobRow | None:
    """A controller that crashed may give a job's id to another job, so the name must agree too.

    Of several of its name, pieces of one long run, the one that runs or waits says more than one that has ended.
    """
    row, named = by_id.get(one.job), by_name.get(one.job_name)
    if row is None or row.name != one.job_name:
        return named if named and (not one.job or named.phase is not Phase.ENDED) else None
    return named if named and _liveliness(named) > _liveliness(row) else row


def _needs_exit_code(sighting: Sighting) -> bool:
    return sighting.row is not None and sighting.row.phase is Phase.ENDED


def _from_accounting(one: Sought, rows: Sequence[JobRow], otherwise: Sighting) -> Sighting:
    """The job's last row, if it has truly ended, and its steps.

    The accounting lags: it may say PENDING of a job that has long run, and FAILED before it knows the exit code.
    """
    jobs = [row for row in rows if not row.step and row.name == one.job_name]
    if not jobs:
        return otherwise
    if jobs[-1].phase is Phase.ENDED and jobs[-1].ended:
        return Sighting(answered=True, row=jobs[-1], steps=tuple(row for row in rows if row.step))
    return otherwise if otherwise.row else Sighting(answered=False, problem="its accounting is not complete yet")
