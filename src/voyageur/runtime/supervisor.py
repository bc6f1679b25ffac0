"""The job's own process, the one that Slurm signals: claims the attempt, runs the program, says truly how it ended."""

import contextlib
import json
import os
import signal
import sys
import time
from typing import Any, Dict, List, Optional

from voyageur.runtime import program
from voyageur.runtime.child import WARN, Child, Mailbox
from voyageur.runtime.folder import (
    BEAT_SECONDS,
    BY_HAND,
    RECORD,
    SECRETS,
    STOP,
    Duplicate,
    append_event,
    attempt_path,
    claim_attempt,
    newest_attempt,
    read_events,
    read_json,
    write_atomically,
    write_marker,
)
from voyageur.runtime.node_folder import NodeFolder, NodeFolderError, base_folder, sweep
from voyageur.runtime.task import shell_code
from voyageur.runtime.usage import Facts, Usage, of_all_nodes

MOST_ATTEMPTS = 6  # Slurm itself does not bound how often a job is requeued
_LIMIT_SLACK = 10.0  # a stop this close to the limit is the limit's


class Supervisor:
    def __init__(self, command: List[str], environment: Dict[str, str], through_srun: bool) -> None:
        self.command = command
        self.through_srun = through_srun
        self.environment = environment
        self.folder = environment["VOY_RUN_DIR"]
        self.token = environment["VOY_TOKEN"]
        self.job = environment.get("SLURM_JOB_ID", "0")
        self.node = program.node_name(environment)
        self.started = time.time()
        self.attempt = 0
        self.fenced = False
        self.usage = Usage()
        self.child: Optional[Child] = None
        self.place: Optional[NodeFolder] = None

    # ── the attempt ──────────────────────────────────────────────────────────────────────────────────────────────────

    def run(self, mailbox: Mailbox) -> int:
        try:
            self.attempt = claim_attempt(self.folder, self._attempt_facts())
        except Duplicate as taken:
            self._note("duplicate left", reason=str(taken))
            self._say("%s; this job leaves without doing anything" % taken)
            return 0
        self.environment["VOY_ATTEMPT"] = str(self.attempt)
        with contextlib.suppress(OSError):
            os.unlink(os.path.join(self.folder, STOP))
        self._note("attempt started", node=self.node, nodes=self.environment.get("SLURM_JOB_NODELIST", self.node))
        self._say("attempt %d of %s, job %s on %s" % (self.attempt, self.environment["VOY_RUN"], self.job, self.node))
        self._miss_secrets()
        try:
            return self._attempt(mailbox)
        finally:
            if self.place:
                self.place.leave()
            sweep(base_folder(self.environment), self.token, settled=0)  # what killed tasks left on this node

    def _miss_secrets(self) -> None:
        """They are removed at the end of a run; somebody who starts its script once more should know."""
        spec = (read_json(os.path.join(self.folder, RECORD)) or {}).get("spec") or {}
        names = (spec.get("env.secrets") or {}).get("value")
        if names and not os.path.exists(os.path.join(self.folder, SECRETS)):
            self._say("the secrets %s were removed when this run had ended; submit it anew" % ", ".join(names))

    def _attempt(self, mailbox: Mailbox) -> int:
        if self.attempt > MOST_ATTEMPTS:
            return self._fail("it was started %d times without an end; it is not started again" % (self.attempt - 1))
        try:
            self.child = self._start()
        except NodeFolderError as problem:
            return self._fail(str(problem))
        except OSError as problem:
            return self._fail("%s cannot be started: %s" % (self.command[0], problem.strerror), 127)
        code = self.child.watch(mailbox, self._beat, BEAT_SECONDS, self._hear)
        self._rescue()
        return self._end(code)

    def _start(self) -> Child:
        """Through srun every task prepares its own node; a single process starts right here."""
        grace = float(self.environment.get("VOY_GRACE", "25"))
        if self.through_srun:
            return Child(self.command, self.environment, self.folder, grace, through_srun=True)
        what, self.place = program.prepare(self.command, self.environment)
        return Child(what.argv, what.environment, what.folder, grace)

    def _rescue(self) -> None:
        """Behind srun the last task on every node has done it."""
        assert self.child is not None
        written = self.place and program.rescue(self.place, self.environment, self.child.stopped_at is not None)
        if written:
            self._note("files written", node=self.node, **written.facts())

    # ── while it runs ────────────────────────────────────────────────────────────────────────────────────────────────

    def _hear(self, signum: int) -> None:
        assert self.child is not None
        if signum == WARN:
            with contextlib.suppress(OSError):
                write_atomically(os.path.join(self.folder, STOP), b"time is nearly up\n")
            told = self.child.warn()
            self._note("warned", told=told)
            self._say("time is nearly up; " + self._who_was_told(told))
        elif self.child.stopped_at is None:
            self._note("told to stop", signal=signal.Signals(signum).name)
            self.child.stop()

    def _who_was_told(self, told: int) -> str:
        assert self.child is not None
        if self.child.through_srun:
            return "every task is told"
        return "the program was told" if told else "the program does not listen to SIGUSR1; the stop file is there"

    def _beat(self) -> None:
        assert self.child is not None
        self.usage.sample(self.child.pid)
        newest = newest_attempt(self.folder)
        if newest and newest.number > self.attempt:
            self.fenced = True
            self._note("fenced", by=newest.number)
            self.child.kill()
            return
        self._write_attempt()

    def _write_attempt(self, **more: Any) -> None:
        facts = dict(self._attempt_facts(), attempt=self.attempt, beat=time.time(), usage=self.usage.facts(), **more)
        with contextlib.suppress(OSError):  # a full disk must not end a run that could still save its work
            write_atomically(attempt_path(self.folder, self.attempt), _json(facts))

    def _attempt_facts(self) -> Dict[str, Any]:
        return {
            "job": self.job,
            "submission": self.environment.get("VOY_SUBMISSION") or BY_HAND,
            "node": self.node,
            "pid": os.getpid(),
            "started": self.started,
            "beat": time.time(),
        }

    # ── how it ended ─────────────────────────────────────────────────────────────────────────────────────────────────

    def _end(self, code: int) -> int:
        if self.fenced:
            self._say("a newer attempt has taken over; this one ends")
            return 0
        how = self._how_it_ended(code)
        self._write_attempt(ended=time.time())
        self._note("attempt ended", end=how, code=code)
        if how != "interrupted":
            self._finish(how, code)
        return shell_code(code)

    def _how_it_ended(self, code: int) -> str:
        """`interrupted` is no verdict on the run: only Slurm knows whether the job comes back."""
        assert self.child is not None
        if self.child.stopped_at is not None:
            if self._cancel_was_asked():
                return "cancelled"
            return "timeout" if self._limit_is_reached() else "interrupted"
        if code == 0:
            return "stopped" if self._warning_was_heard() else "done"
        return "failed"

    def _warning_was_heard(self) -> bool:
        """By the program here, or by a task behind srun."""
        assert self.child is not None
        if self.child.warned or (self.place and self.place.stop_was_seen()):
            return True
        heard = [event for event in read_events(self.folder) if event["event"] == "warning heard"]
        return any(event.get("attempt") == self.attempt for event in heard)

    def _cancel_was_asked(self) -> bool:
        return any(event["event"] == "cancel asked" for event in read_events(self.folder))

    def _limit_is_reached(self) -> bool:
        limit = float(self.environment.get("VOY_TIME_LIMIT", "0"))
        return bool(limit) and time.time() - self.started >= limit - _LIMIT_SLACK

    def _fail(self, problem: str, code: int = 1) -> int:
        self._say(problem)
        self._note("attempt ended", end="failed", problem=problem)
        self._finish("failed", code, problem=problem)
        return code

    def _finish(self, how: str, code: int, **more: Any) -> None:
        newest = newest_attempt(self.folder)
        if newest and newest.number > self.attempt:
            return
        facts = {
            "run": self.environment["VOY_RUN"],
            "token": self.token,
            "attempt": self.attempt,
            "job": self.job,
            "node": self.node,
            "end": how,
            "exit_code": max(code, 0),
            "signal": max(-code, 0),
            "started": self.started,
            "ended": time.time(),
            "usage": self._used(),
        }
        facts.update(more)
        write_marker(self.folder, facts, self.token)
        with contextlib.suppress(OSError):
            os.unlink(os.path.join(self.folder, SECRETS))

    def _used(self) -> Facts:
        """Behind srun every node has added up its own tasks."""
        if not self.through_srun:
            return self.usage.facts()
        nodes = [event for event in read_events(self.folder) if event["event"] == "node used"]
        return of_all_nodes(event for event in nodes if event.get("attempt") == self.attempt)

    # ── saying so ────────────────────────────────────────────────────────────────────────────────────────────────────

    def _note(self, event: str, **facts: Any) -> None:
        try:
            append_event(self.folder, event, attempt=self.attempt, job=self.job, **facts)
        except OSError as problem:
            self._say("an event could not be written down: %s" % problem)

    def _say(self, text: str) -> None:
        print("voyageur: %s" % text, file=sys.stderr, flush=True)


def _json(facts: Dict[str, Any]) -> bytes:
    return json.dumps(facts).encode("utf-8")


def run(command: List[str], through_srun: bool = False) -> int:
    mailbox = Mailbox()
    environment = dict(os.environ)
    environment["VOY_SITE_TMPDIR"] = environment.get("SLURM_TMPDIR", "")
    # Steps take the batch script's whole environment; sbatch's --export list was for the way into the job.
    environment["SLURM_EXPORT_ENV"] = "ALL"
    if read_json(os.path.join(environment["VOY_RUN_DIR"], RECORD)) is None:
        print(
            "voyageur: the run's folder %s is gone or cannot be read" % environment["VOY_RUN_DIR"],
            file=sys.stderr,
        )
        return 1
    return Supervisor(command, environment, through_srun).run(mailbox)
