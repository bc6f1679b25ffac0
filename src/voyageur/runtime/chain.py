"""What comes after this attempt: the next piece of a long run, a new try, or nothing more.

A piece of an array waits in the queue already. A successor is submitted when the piece before it begins. A requeue puts
the same job back. Whatever comes reads this run's own marker first, and leaves when there is nothing left to do.
"""

import math
import os
import time
from typing import List, Mapping, NamedTuple, Optional, Tuple

from voyageur.runtime import folder as files
from voyageur.runtime import sizing, story
from voyageur.runtime.elsewhere import Elsewhere
from voyageur.runtime.inherited import job_variables
from voyageur.runtime.ledger import Ledger
from voyageur.runtime.slurm import Slurm
from voyageur.runtime.staging.aboard import Pause

_IDS = ("job", "array")
OVER = ("done", "failed", "cancelled")
_TRIES = (2.0, 10.0, 30.0)  # seconds between tries of a submission; a second job of it would leave at once
_REQUEUE_SECONDS = 20.0
_BAD_NODES = 3  # attempts in a row that may end because of their nodes


class Next(NamedTuple):
    """`comes`: another attempt follows. `by_requeue`: when this job puts itself back into the queue."""

    comes: bool
    by_requeue: bool = False
    because: str = ""


NOTHING = Next(False)
NO_NODES: Mapping[str, str] = {}


class Chain:
    def __init__(self, environment: Mapping[str, str], ledger: Ledger) -> None:
        self.environment = environment
        self.ledger = ledger
        self.slurm = Slurm(environment, ledger)
        self.elsewhere = Elsewhere(environment, ledger, self.slurm)
        self.by = environment.get("VOY_CHAIN", "")
        self.planned = int(environment.get("VOY_PIECES") or 1)
        self.retries = int(environment.get("VOY_RETRIES") or 0)
        self.more_memory = float(environment.get("VOY_RETRY_MEMORY") or 0)
        self.more_time = int(environment.get("VOY_RETRY_TIME") or 0)
        self.may_requeue = environment.get("VOY_REQUEUE") == "1"
        self.may_submit = environment.get("VOY_SUCCESSORS") == "1"
        self.array = environment.get("SLURM_ARRAY_JOB_ID", "")
        self.piece = int(environment.get("SLURM_ARRAY_TASK_ID") or 0)
        self.last_piece = int(environment.get("SLURM_ARRAY_TASK_MAX") or 0)

    @property
    def is_long(self) -> bool:
        return self.planned > 1 or self.last_piece > 1 or self._extended() > 0

    def _extended(self) -> int:
        """On this machine `voy extend` only writes down how many pieces more there may be."""
        found = 0
        for event in files.read_events(self.ledger.folder):
            found = 0 if event["event"] == "resumed" else found
            found += int(event["pieces"]) if event["event"] == "extended" else 0
        return found

    # ── before the program ───────────────────────────────────────────────────────────────────────────────────────────

    def why_leave(self) -> str:
        """Somebody who types `sbatch job.sh` means it; a piece that finds its run over has nothing to do."""
        if self.ledger.is_by_hand:
            return ""
        marker = files.read_marker(self.ledger.folder, self.ledger.token)
        if marker and marker.get("end") in OVER:
            return "this run has ended: %s" % marker["end"]
        return "it was asked to stop" if self.ledger.stop_was_asked() else ""

    def line_up(self) -> None:
        """Submit the piece that comes after this one, where each submits the next."""
        past = self.past()
        if self.by != "successors" or not (self.may_submit and self.is_long) or self._a_piece_waits(past):
            return
        if story.pieces_spent(past) < self.planned:
            self._submit(self.ledger.job)

    def look_back(self) -> None:
        """An attempt that nobody could write the end of may have lost its nodes."""
        before = self.past()[:-1]
        if before and not before[-1].end:
            self.elsewhere.leave_out(self.elsewhere.sick_of(before[-1].nodes))

    def past(self) -> List[story.Past]:
        return story.attempts(files.read_events(self.ledger.folder))

    # ── after it ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def may_go_elsewhere(self) -> bool:
        """Where a failure is a node's own. A few times: when every node looks bad, something else is."""
        ends = [one.end for one in self.past()[:-1]]
        return self.elsewhere.may and self.may_requeue and ends[-_BAD_NODES:] != [files.BAD_NODE] * _BAD_NODES

    def after(self, how: str, progress: files.Json, oom: bool, bad: Mapping[str, str] = NO_NODES) -> Next:
        if how == "interrupted":
            return Next(True)
        if how in ("done", "cancelled") or self.ledger.stop_was_asked():
            return NOTHING
        if how == files.BAD_NODE:
            return self._go_elsewhere(bad)
        if how == "failed":
            return self._after_failure(oom)
        if self.is_long or self._follower_waits():
            return self._after_piece(progress)
        return self._with_more_time()

    def _after_failure(self, oom: bool) -> Next:
        past = self.past()
        if oom and self.more_memory and not self._was_raised("more memory"):
            return self._with_more_memory()
        failures = sum(one.end == "failed" for one in past)
        if failures > self.retries:
            return NOTHING
        because = "it failed; it is tried again, %d of %d" % (failures, self.retries)
        if self._a_piece_waits(past):
            return Next(True, because=because)
        return self._once_more(because)

    def _go_elsewhere(self, bad: Mapping[str, str]) -> Next:
        self.elsewhere.leave_out(bad)
        because = "%s failed it; it goes on elsewhere" % " and ".join(sorted(bad))
        return Next(True, because=because) if self._a_piece_waits(self.past()) else self._once_more(because)

    def _after_piece(self, progress: files.Json) -> Next:
        past = self.past()
        if self._a_piece_waits(past):
            self._size_next(progress)
            return Next(True)
        spent, extended = story.pieces_spent(past), self._extended()
        if spent < self.planned + extended and (self.by == "requeue" or extended):
            return Next(True, by_requeue=True)
        if not self._came_further(past, progress) or spent >= 2 * self.planned + extended:
            return NOTHING
        more = min(self._still_needed(progress), 2 * self.planned + extended - spent)
        because = "%d pieces were planned; it needs %d more" % (self.planned, more)
        self.ledger.note("more pieces", pieces=more, planned=self.planned)
        self.ledger.say(because)
        return self._once_more(because, more)

    def _a_piece_waits(self, past: List[story.Past]) -> bool:
        if self.array and story.pieces_left(past, self.array, self.last_piece, self.piece):
            return True
        return self._follower_waits()

    def _follower_waits(self) -> bool:
        """Somebody has submitted what comes after this job: the piece itself when it began, or `voy extend`."""
        events = files.read_events(self.ledger.folder)
        begun = {str(event.get(key)) for event in events if event["event"] == "attempt started" for key in _IDS}
        followers = (str(event.get("follower")) for event in events if event["event"] == "successor submitted")
        return any(follower not in begun for follower in followers)

    def _came_further(self, past: List[story.Past], progress: files.Json) -> bool:
        """In this attempt: a newer checkpoint than the one it began from, or more progress."""
        from voyageur.runtime import resume

        if resume.mark_of(resume.newest(self.environment)) != past[-1].mark:
            return True
        return float(progress.get("done", 0)) > max(
            (float(one.progress.get("done", 0)) for one in past[:-1]), default=0
        )

    def _still_needed(self, progress: files.Json) -> int:
        """Pieces for what the progress lines leave to be done; one, where they do not say."""
        left = sizing.seconds_left(progress)
        return 1 if left is None else sizing.pieces_for(left, *self._piece(progress))

    def _piece(self, progress: files.Json) -> Tuple[float, float, float]:
        """Its limit, its warning, and how long it took until the first unit was done."""
        limit, warn = (float(self.environment.get(name) or 0) for name in ("VOY_TIME_LIMIT", "VOY_WARN"))
        return limit, warn, float(progress.get("begun") or 0)

    def _size_next(self, progress: files.Json) -> None:
        """The last piece asks for no more than what is left: short jobs start sooner. Slurm lets an owner shorten the
        limit of a job that waits, and never lengthen it."""
        left = sizing.seconds_left(progress)
        minutes = None if left is None else sizing.minutes_wanted(left, *self._piece(progress))
        job = self.elsewhere.next_waiting() if minutes else ""
        if left is None or minutes is None or not job:
            return
        if self.slurm.run(["scontrol", "update", "JobId=" + job, "TimeLimit=%d" % minutes]) is not None:
            self.ledger.note("piece sized", of=job, time_limit=60 * minutes, left=round(left))
            self.ledger.say("about %d s of work are left; the next piece asks for %d min only" % (left, minutes))

    def _once_more(self, because: str, pieces: int = 1) -> Next:
        """A start beyond those submitted: the next piece at once, or the same job after Slurm's two minutes."""
        if self.by == "array" and self.may_submit and self._submit(self.ledger.job, pieces=pieces):
            return Next(True, because=because)
        if self.by == "successors" and self.may_submit and self._submit(self.ledger.job):
            return Next(True, because=because)
        return Next(self.may_requeue, by_requeue=self.may_requeue, because=because)

    # ── more of what it wanted for ───────────────────────────────────────────────────────────────────────────────────

    def _was_raised(self, what: str) -> bool:
        return any(event["event"] == what for event in files.read_events(self.ledger.folder))

    def _with_more_time(self) -> Next:
        """Only a new job can have it: Slurm lets no owner lengthen one that runs."""
        had = int(float(self.environment.get("VOY_TIME_LIMIT") or 0))
        if self.more_time <= had or not self.may_submit or self._was_raised("more time"):
            return NOTHING
        self.ledger.note("more time", before=had, now=self.more_time)
        job = self._submit(self.ledger.job, limit=self.more_time)
        if job:
            self.ledger.note("piece sized", of=job, time_limit=self.more_time)
        return Next(bool(job), because="its %d min were up; once more, with %d" % (had // 60, self.more_time // 60))

    def _with_more_memory(self) -> Next:
        """Only a new job can have it; what waits in the queue has too little as well."""
        had = int(self.environment.get("SLURM_MEM_PER_NODE") or 0)
        if not had or not self.may_submit:
            return NOTHING
        memory = math.ceil(had * self.more_memory)
        left = len(story.pieces_left(self.past(), self.array, self.last_piece, self.piece)) if self.array else 0
        self.ledger.note("more memory", before="%dM" % had, now="%dM" % memory)
        self.end_rest()
        job = self._submit(self.ledger.job, pieces=left + 1, memory=memory)
        return Next(bool(job), because="it wanted more than %d MiB of memory; once more, with %d" % (had, memory))

    # ── Slurm ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def end_rest(self) -> None:
        """What waits is cancelled, so that no allocation is spent on finding out that nothing is left to do."""
        if "VOY_LOCAL_TOOLS" in self.environment or not (self.is_long or self._follower_waits()):
            return
        name = self.environment.get("SLURM_JOB_NAME", "")
        if self.ledger.token in name:
            self.slurm.run(["scancel", "--state=PENDING", "--name=" + name])

    def requeue(self, pause: Pause) -> None:
        """A job that ends well while it is being preempted counts as completed; only its own word puts it back.

        Slurm ends this job then; one that ends before that might still count as completed. `pause`: for so many
        seconds, false when somebody asks us to end.
        """
        self.ledger.say("back into the queue")
        if self.slurm.run(["scontrol", "requeue", self.ledger.job]) is not None:
            self.elsewhere.change(self.ledger.job)
            deadline = time.monotonic() + _REQUEUE_SECONDS
            while time.monotonic() < deadline and pause(1.0):
                pass

    def _submit(self, after: str, pieces: int = 1, memory: Optional[int] = None, limit: Optional[int] = None) -> str:
        """The new job's id. A submission that is not answered is repeated: of two jobs of one submission one leaves."""
        submission = "s%d:%s" % (self.ledger.submissions() + 1, after)
        argv = self._sbatch(submission, after, pieces, memory, limit)
        variables = dict(job_variables(self.environment), SLURM_JOB_NAME=self.environment.get("SLURM_JOB_NAME", ""))
        for pause in _TRIES:
            answer = self.slurm.run(argv, "".join("%s=%s\0" % one for one in variables.items()))
            job = next((word for word in reversed((answer or "").split()) if word.split(";")[0].isdigit()), "")
            if job:
                facts = {"follower": job.split(";")[0], "submission": submission, "after": after, "pieces": pieces}
                self.ledger.note("successor submitted", **facts)
                return str(facts["follower"])
            time.sleep(pause)
        self.ledger.say("the next piece could not be submitted")
        return ""

    def _sbatch(
        self, submission: str, after: str, pieces: int, memory: Optional[int], limit: Optional[int]
    ) -> List[str]:
        limit = limit or int(float(self.environment.get("VOY_TIME_LIMIT") or 0))
        had = self.environment.get("SLURM_MEM_PER_NODE")
        wanted = memory or (int(had) if had else 0)
        options = ["--dependency=afterany:%s" % after, "--time=%d" % -(-limit // 60)]
        options += ["--mem=%dM" % wanted] if wanted else []
        options += self.elsewhere.options()
        options += ["--array=1-%d%%1" % pieces] if self.by == "array" else []
        script = os.path.join(self.ledger.folder, files.SCRIPT)
        return ["sbatch", "--parsable", "--export=ALL", "--export-file=/dev/stdin", *options, script, submission]
