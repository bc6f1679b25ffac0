"""The job's own process, the one that Slurm signals: claims the attempt, runs the program, says truly how it ended."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from typing import Dict, List, Mapping, Optional

from voyageur.runtime import abort, inside, preflight, processes, program
from voyageur.runtime.chain import NO_NODES, NOTHING, Chain
from voyageur.runtime.child import WARN, Child, Mailbox
from voyageur.runtime.environment import EnvironmentProblem
from voyageur.runtime.folder import BAD_NODE, BEAT_SECONDS, LOG, RECORD, RUNTIME, Duplicate, read_json
from voyageur.runtime.launched import own_cpu_seconds
from voyageur.runtime.ledger import Ledger
from voyageur.runtime.meeting import MeetingError, meet, signals_reach_all
from voyageur.runtime.memory import oom_kills
from voyageur.runtime.milestones import Milestones
from voyageur.runtime.node_folder import NodeFolder, NodeFolderError, base_folder, sweep
from voyageur.runtime.parting import Parting
from voyageur.runtime.quiet import Quiet
from voyageur.runtime.results.saving import Saving
from voyageur.runtime.staging.aboard import Aboard, StagingError, Stopped
from voyageur.runtime.staging.switchboard import connect_nodes
from voyageur.runtime.task import shell_code
from voyageur.runtime.usage import Facts, Usage, of_all_nodes

_LIMIT_SLACK = 10.0  # a stop this close to the limit is the limit's
_WARNED_EARLY = 120.0  # Slurm sends the warning up to a minute early; one that comes earlier than this is no time limit
_PREFLIGHT_SECONDS = 90.0
_OTHERS_SECONDS = 10.0  # for a starter to end the ranks that are left


class Supervisor:
    def __init__(self, command: List[str], environment: Dict[str, str], through_srun: bool) -> None:
        self.command = command
        self.through_srun = through_srun
        self.environment = environment
        self.ledger = Ledger(environment)
        environment.update(self.ledger.wishes())
        self.chain = Chain(environment, self.ledger)
        self.milestones = Milestones(environment, self.ledger)
        self.log_began = abort.size_of(os.path.join(self.ledger.folder, LOG))
        self.usage = Usage()
        self.quiet = Quiet(environment)
        self.parting = Parting(environment, through_srun, self._warning_was_heard)
        self.oom_before = oom_kills()
        self.warned_after: Optional[float] = None
        self.fenced = False
        self.beaten = time.monotonic()
        self.interrupted = False
        self.next = NOTHING
        self.child: Optional[Child] = None
        self.place: Optional[NodeFolder] = None
        self.aboard: Optional[Aboard] = None
        self.entry: Optional[inside.Entry] = None
        self.saving = Saving(environment, self.ledger.node, None)
        self.switchboard: "Optional[subprocess.Popen[bytes]]" = None

    # ── the attempt ──────────────────────────────────────────────────────────────────────────────────────────────────

    def run(self, mailbox: Mailbox) -> int:
        ledger = self.ledger
        before = ledger.last_event(
            "submitted", "refused", "cancel asked", "cancel failed", "attempt started", "resumed"
        )
        if before == "refused" and not ledger.is_by_hand:
            # The user was told that it would not run, and may have submitted it anew.
            return self._leave("it was given up before this job began")
        if over := self.chain.why_leave():
            return self._leave(over)
        try:
            ledger.claim()
        except Duplicate as taken:
            return self._leave(str(taken))
        except OSError as problem:
            ledger.say("the run's folder cannot be written: %s" % problem)
            return 1
        self._announce()
        if before == "cancel asked" and not ledger.is_by_hand:
            return self._end_before_start()
        return self._run_and_clean_up(mailbox)

    def _leave(self, reason: str) -> int:
        self.ledger.note("duplicate left", reason=reason)
        self.ledger.say("%s; this job leaves without doing anything" % reason)
        return 0

    def _announce(self) -> None:
        ledger = self.ledger
        self.environment["VOY_ATTEMPT"] = str(ledger.attempt)
        nodes = self.environment.get("VOY_LOCAL_NAMES") or self.environment.get("SLURM_JOB_NODELIST", ledger.node)
        ledger.note("attempt started", node=ledger.node, nodes=nodes, **ledger.place_in_chain())
        ledger.say("attempt %d of %s, job %s on %s" % (ledger.attempt, ledger.run, ledger.job, ledger.node))
        gone = ledger.missing_secrets()
        if gone:
            ledger.say("the secrets %s were removed when this run had ended; submit it anew" % ", ".join(gone))

    def _end_before_start(self) -> int:
        """Cancelled while it waited, and yet here: a second job of the same submission, or one that was requeued."""
        self.ledger.say("it was cancelled before this job began; nothing is done")
        self.ledger.note("attempt ended", end="cancelled", code=0)
        self.ledger.finish("cancelled", 0, {})
        return 0

    def _run_and_clean_up(self, mailbox: Mailbox) -> int:
        try:
            code = self._attempt(mailbox)
        finally:
            if self.aboard:
                self.aboard.leave(self.interrupted or self.next.comes)
            if self.place:
                self.place.leave()
            sweep(base_folder(self.environment), self.ledger.token, settled=0)  # what killed tasks left on this node
            self.ledger.give_room()
        if self.next.by_requeue:
            self.chain.requeue(mailbox.pause)
        return code

    def _attempt(self, mailbox: Mailbox) -> int:
        if problem := self.milestones.begin(self.command):
            return self._fail(problem)
        self.chain.line_up()
        self.chain.look_back()
        self.ledger.reserve()
        try:
            self._meet()
            if self._wants_a_look():
                unfit = self._unfit_nodes()
                if unfit is None:
                    return self._fail("the look at the nodes did not come to an end")
                if unfit:
                    return self._fail_for_nodes(unfit)
            self.child = self._start(mailbox)
        except Stopped:
            return self._end_unstarted()
        except (NodeFolderError, StagingError, EnvironmentProblem, MeetingError) as problem:
            return self._fail(str(problem))
        except OSError as problem:
            return self._fail("%s cannot be started: %s" % (self.command[0], problem.strerror), 127)
        code = self.child.watch(
            mailbox, self._beat, BEAT_SECONDS, self._hear, helpers=self._helpers, stayers=self._stayers
        )
        if code and self.environment.get("VOY_ABORTS") == "1":
            self._name_who_aborted(code)
        self._rescue()
        return self._end(code)

    def _meet(self) -> None:
        """Asked once, here on the first node; every task inherits the answer."""
        found = meet(self.environment)
        self.environment.update(found)
        if self.through_srun:
            at = "%(MASTER_ADDR)s:%(MASTER_PORT)s" % found
            self.ledger.note("ranks meet", at=at, nodes=found["VOY_NODE_NAMES"].split(","))
            self.environment["VOY_SIGNALS_REACH_ALL"] = str(int(signals_reach_all(self.environment)))

    def _wants_a_look(self) -> bool:
        return self.environment.get("VOY_PREFLIGHT") == "1" and self.through_srun

    def _unfit_nodes(self) -> Optional[Dict[str, str]]:
        """A short step before the long one, where the user wants it. None when it did not come to an end."""
        nodes = str(len(self.environment["VOY_NODE_NAMES"].split(",")))
        own = [self.environment["VOY_PYTHON"], "-I", os.path.join(self.ledger.folder, RUNTIME), "preflight", "--", "-"]
        step = ["srun", "--nodes=" + nodes, "--ntasks=" + nodes, "--ntasks-per-node=1", *own]
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run(step, env=self.environment, timeout=_PREFLIGHT_SECONDS, check=False)
        seen = self.ledger.own_events("nodes looked at")
        return {str(name): str(problem) for name, problem in seen[-1]["bad"].items()} if seen else None

    def _start(self, mailbox: Mailbox) -> Child:
        """Through srun every task prepares its own node; a single process starts right here."""
        grace = float(self.environment.get("VOY_GRACE", "25"))
        if self.through_srun:
            self.switchboard = connect_nodes(self.environment)
            return Child(self.command, self.environment, self.ledger.folder, grace, through_srun=True)
        what, self.place = program.prepare(self.command, self.environment, lambda seconds: self._wait(mailbox, seconds))
        self.aboard, self.saving = what.aboard, what.saving
        try:
            self.entry = inside.enter(what, asks=True)
        except inside.ContainerError as problem:
            raise NodeFolderError(str(problem)) from None
        entry = self.entry
        return Child(entry.argv, entry.environment, what.folder, grace, in_container=entry.is_hidden)

    def _name_who_aborted(self, code: int) -> None:
        """MPI ends all ranks at once, and those who watch them, too; what is left is what the rank has said."""
        known, log = self.ledger.own_events("task failed"), os.path.join(self.ledger.folder, LOG)
        facts = abort.who_ended_all(known, log, self.log_began, self.environment)
        if facts:
            self.ledger.note("task failed", code=code, ended=time.time(), first=True, **facts)

    def _rescue(self) -> None:
        """Behind srun the last task on every node has done it."""
        assert self.child is not None
        saved = self.saving.finish(self.child.deadline)
        stopped = self.child.stopped_at is not None
        written = self.place and program.rescue(self.place, self.environment, stopped, saved)
        if written:
            self.ledger.note("files written", node=self.ledger.node, **written.facts())

    def _wait(self, mailbox: Mailbox, seconds: float) -> bool:
        """For datasets, which may take longer than we may be silent."""
        if time.monotonic() - self.beaten >= BEAT_SECONDS:
            self.beaten = time.monotonic()
            self.ledger.beat(self.usage.facts())
        return mailbox.pause(seconds)

    def _helpers(self) -> List[int]:
        """Children of ours that are not the program."""
        beside = [self.switchboard.pid] if self.switchboard else []
        return [self.usage.gpus.pid, *beside, *self.saving.helpers, *self._stayers()]

    def _stayers(self) -> List[int]:
        return self.aboard.stayers if self.aboard else []

    # ── while it runs ────────────────────────────────────────────────────────────────────────────────────────────────

    def _hear(self, signum: int) -> None:
        """The program first: a shared file system may take longer to answer than the job has left."""
        assert self.child is not None
        if signum == WARN:
            told = self.child.warn()
            self.saving.save_now()
            self.warned_after = time.time() - self.ledger.started
            self.ledger.ask_to_stop()
            self.ledger.note("warned", told=told)
            if self.ledger.stop_was_asked():
                self._part(told)
            else:
                self.ledger.say("time is nearly up; " + self._who_was_told(told))
        elif self.child.stopped_at is None:
            self.child.stop()
            self.saving.save_now()
            if self.parting.is_due:
                self.ledger.say("it has saved, and is ended: it was asked to stop")
            self.ledger.note("told to stop", signal=signal.Signals(signum).name)

    def _part(self, told: int) -> None:
        """By `voy stop`. A program that does not listen is ended behind its next checkpoint, where one can be known."""
        self.ledger.say("it is asked to stop; " + self._who_was_told(told))
        if not told and self.parting.is_possible:
            self.ledger.say("if it goes on all the same, it is ended when it has written its next whole checkpoint")
            self.parting.begin()

    def _who_was_told(self, told: int) -> str:
        if self.through_srun:
            return "every task is told"
        assert self.child is not None
        deaf = "the program does not listen to %s; the stop file is there" % self.child.warning.name
        return "the program was told" if told else deaf

    def _beat(self) -> None:
        assert self.child is not None
        self.usage.sample(self.child.pid)
        self._listen()
        if self.ledger.is_superseded():
            self.fenced = True
            self.child.kill()
            self.ledger.note("fenced")
        else:
            self.milestones.look()
            self.ledger.beat(self.usage.facts(), progress=self.milestones.facts())
            self.saving.mind()
            if self.aboard:
                self.aboard.mind()
            self._end_those_who_wait()

    def _end_those_who_wait(self) -> None:
        """srun ends the others itself. mpirun does not when a rank has died before it met them (MPICH 5.0)."""
        assert self.child is not None
        if not self.through_srun or self.child.is_srun or self.child.stopped_at is not None:
            return
        failed = [float(event.get("ended") or event["time"]) for event in self.ledger.own_events("task failed")]
        if failed and time.time() - min(failed) > _OTHERS_SECONDS:
            self.ledger.say("a rank has failed and the others go on without it; they are ended")
            self.child.kill()

    def _listen(self) -> None:
        """Behind srun the first task does it: it sees the program's work."""
        assert self.child is not None
        if not self.through_srun:
            facts = self.quiet.look(own_cpu_seconds(processes.family(self.child.pid)), self.usage.gpu_work())
            if facts:
                self.ledger.note("nothing happens", node=self.ledger.node, **facts)

    # ── how it ended ─────────────────────────────────────────────────────────────────────────────────────────────────

    def _end(self, code: int) -> int:
        assert self.child is not None
        if self.fenced or self.ledger.is_superseded():  # what waits in the queue is the newer one's affair, too
            self.ledger.say("a newer attempt has taken over; this one ends")
            return 0
        self.milestones.look(at_end=True)
        memory = self._killed_for_memory()
        how, progress = self._how_it_ended(code, bool(memory)), self.milestones.facts()
        bad = self._bad_nodes() if how == "failed" and not memory else NO_NODES
        if bad and self.chain.may_go_elsewhere():
            how = BAD_NODE
        self.ledger.beat(self.usage.facts(), ended=time.time(), progress=progress)
        self.ledger.note("attempt ended", end=how, code=code, progress=progress)
        self.interrupted = how == "interrupted"
        self.next = self.chain.after(how, progress, bool(memory), bad)
        if self.interrupted:
            self.next = self.next._replace(by_requeue=self.child.stopped_at is None)
        elif self.next.comes:
            self.ledger.say(self.next.because or "this piece is over; the next goes on")
        else:
            problem = {"problem": _of_nodes(bad)} if bad else self._why(code)
            self.ledger.finish("failed" if how == BAD_NODE else how, code, self._used(), **memory, **problem)
            self.chain.end_rest()
        return shell_code(code)

    def _bad_nodes(self) -> Mapping[str, str]:
        """Behind srun the task that failed has looked at its own node."""
        if not self.through_srun:
            wrong = preflight.gpus_gone(self.environment)
            return {self.ledger.node: wrong} if wrong else NO_NODES
        failed = self.ledger.own_events("task failed")
        return {str(event["node"]): str(event["node_problem"]) for event in failed if event.get("node_problem")}

    def _how_it_ended(self, code: int, for_memory: bool) -> str:
        """`interrupted` is no verdict on the run: only Slurm knows whether the job comes back."""
        assert self.child is not None
        stopped = self.child.stopped_at is not None
        if stopped and self._cancel_was_asked():
            return "cancelled"
        if self.milestones.is_finished(code == 0 or stopped):
            return "done"
        if stopped:
            return "stopped" if self.parting.is_due else self._limit_or_stop()
        if not (self._warning_was_heard() or self._may_have_heard(code, for_memory)):
            return "failed" if code else "done"
        return "interrupted" if self._was_preempted() else "stopped"

    def _limit_or_stop(self) -> str:
        return "timeout" if self._limit_is_reached() else "interrupted"

    def _end_unstarted(self) -> int:
        """Told to stop before the program had begun: its datasets were still on their way."""
        how = "cancelled" if self._cancel_was_asked() else self._limit_or_stop()
        self.interrupted = how == "interrupted"
        self.ledger.say("told to stop while the datasets were on their way; the program did not begin")
        self.ledger.beat(self.usage.facts(), ended=time.time())
        self.ledger.note("attempt ended", end=how, code=-int(signal.SIGTERM))
        self.next = self.chain.after(how, self.milestones.facts(), False)
        if not self.interrupted and not self.next.comes:
            self.ledger.finish(how, -int(signal.SIGTERM), self.usage.facts())
        return shell_code(-int(signal.SIGTERM))

    def _cancel_was_asked(self) -> bool:
        return self.ledger.last_event("attempt started", "cancel asked", "cancel failed") == "cancel asked"

    def _limit_is_reached(self) -> bool:
        limit = float(self.environment.get("VOY_TIME_LIMIT", "0"))
        return bool(limit) and time.time() - self.ledger.started >= limit - _LIMIT_SLACK

    def _warning_was_heard(self) -> bool:
        """By the program here, or by a task behind srun."""
        assert self.child is not None
        if self.child.warned or (self.place and self.place.stop_was_seen()):
            return True
        return bool(self.ledger.own_events("warning heard"))

    def _may_have_heard(self, code: int, for_memory: bool) -> bool:
        """Nobody sees who looks for the stop file. In a chain one more piece tells: what was done ends at once."""
        return self.chain.is_long and self.warned_after is not None and code >= 0 and not for_memory

    def _was_preempted(self) -> bool:
        """The warning came long before the limit's own would have, and the job may be put back."""
        warn, limit = (float(self.environment.get(name, "0")) for name in ("VOY_WARN", "VOY_TIME_LIMIT"))
        early = self.warned_after is not None and self.warned_after < limit - warn - _WARNED_EARLY
        return early and self.environment.get("VOY_REQUEUE") == "1" and not self.ledger.stop_was_asked()

    def _used(self) -> Facts:
        """Behind srun every node has added up its own tasks."""
        return of_all_nodes(self.ledger.own_events("node used")) if self.through_srun else self.usage.facts()

    def _killed_for_memory(self) -> Dict[str, int]:
        kills = oom_kills() - self.oom_before
        return {"oom_kills": kills} if kills > 0 else {}

    def _why(self, code: int) -> Dict[str, str]:
        why = inside.explain(self.entry, self.environment) if code and self.entry else ""
        return {"problem": why} if why else {}

    def _fail_for_nodes(self, bad: Dict[str, str]) -> int:
        """Before the program began."""
        if not self.chain.may_go_elsewhere():
            return self._fail(_of_nodes(bad))
        self.ledger.say(_of_nodes(bad))
        self.ledger.beat(self.usage.facts(), ended=time.time())
        self.ledger.note("attempt ended", end=BAD_NODE, problem=_of_nodes(bad))
        self.next = self.chain.after(BAD_NODE, {}, False, bad)
        if self.next.comes:
            self.ledger.say(self.next.because)
        else:
            self.ledger.finish("failed", 1, self.usage.facts(), problem=_of_nodes(bad))
            self.chain.end_rest()
        return 1

    def _fail(self, problem: str, code: int = 1) -> int:
        self.ledger.say(problem)
        self.ledger.beat(self.usage.facts(), ended=time.time())
        self.ledger.note("attempt ended", end="failed", problem=problem)
        self.ledger.finish("failed", code, self.usage.facts(), problem=problem)
        self.chain.end_rest()
        return code


def _of_nodes(bad: Mapping[str, str]) -> str:
    return "; ".join("node %s: %s" % one for one in bad.items())


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
