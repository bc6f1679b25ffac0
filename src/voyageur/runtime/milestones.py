"""How far the program has come: where it began, its progress, its checkpoints, whether all is done."""

import os
import threading
import time
from fnmatch import fnmatch
from typing import Dict, List, Optional, Sequence, Tuple

from voyageur.job import checkpoint_files as saved
from voyageur.runtime import folder as files
from voyageur.runtime import resume, retention, story
from voyageur.runtime.ledger import Ledger
from voyageur.runtime.progress import Facts, Progress

_SELDOM = 60.0  # seconds; a folder of checkpoints may hold many thousands of files


class Milestones:
    def __init__(self, environment: Dict[str, str], ledger: Ledger) -> None:
        self.environment = environment
        self.ledger = ledger
        self.folder = environment.get("VOY_CHECKPOINTS", "")
        self.progress = Progress(os.path.join(ledger.folder, files.LOG), environment.get("VOY_PROGRESS", ""))
        self._told: Facts = {}
        self._told_at = 0.0
        self.keep = int(environment.get("VOY_KEEP") or 0)
        self.began_from: Optional[resume.Mark] = None
        self._tidying: Optional[threading.Thread] = None

    # ── the beginning ────────────────────────────────────────────────────────────────────────────────────────────────

    def begin(self, command: List[str]) -> str:
        """Choose where it goes on from. A problem, when it was begun there too often already."""
        past = story.attempts(files.read_events(self.ledger.folder))[:-1]
        if resume.is_wanted(self.environment, command):
            self._choose()
        is_judged = any(self.environment.get(name) for name in ("VOY_CHECKPOINT_PATTERN", "VOY_RESUME", "VOY_PROGRESS"))
        if story.in_vain(past, self.began_from, is_judged or self.began_from is not None) < story.MOST_IN_VAIN:
            return ""
        if self.began_from is None and not is_judged:
            return "it was started %d times without an end; it is not started again" % len(past)
        where = "from %s" % self.began_from.name if self.began_from else "without a checkpoint"
        return "it was started again and again %s and came no further; it is not started again" % where

    def _choose(self) -> None:
        choice = resume.choose(self.environment)
        self.began_from = resume.mark_of(choice.newest)
        self.environment["VOY_LATEST"] = choice.newest.path if choice.newest else ""
        for sentence in resume.sentences(choice):
            self.ledger.say(sentence)
        if choice.newest or choice.passed_over:
            self.ledger.note("resumed from", **resume.facts(choice))

    # ── on the way ───────────────────────────────────────────────────────────────────────────────────────────────────

    def look(self, at_end: bool = False) -> None:
        self.progress.read(at_end)
        self._told_at = 0.0 if at_end else self._told_at
        if self.keep and at_end:
            self._tidy()
        elif self.keep and (self._tidying is None or not self._tidying.is_alive()):
            # On the side: reading a large checkpoint takes longer than a warning may wait.
            self._tidying = threading.Thread(target=self._tidy, daemon=True)
            self._tidying.start()

    def facts(self) -> Facts:
        """How far it is: by its log; else by the numbers and the times of the checkpoints that it has written."""
        return self.progress.facts() or self._by_checkpoints()

    def _by_checkpoints(self) -> Facts:
        pattern = self.environment.get("VOY_CHECKPOINT_PATTERN", "")
        if pattern and time.time() - self._told_at > _SELDOM:
            self._told, self._told_at = self._read_numbers(pattern), time.time()
        return self._told

    def _read_numbers(self, pattern: str) -> Facts:
        found = saved.newest_first(self.folder, pattern)
        own = [one for one in found if one.written >= self.ledger.started and saved.numbers_in(one.name)]
        return by_numbers([(saved.numbers_in(one.name), one.written) for one in reversed(own)])

    def _tidy(self) -> None:
        if not self.ledger.is_superseded():
            since = retention.first_start(files.read_events(self.ledger.folder)) or self.ledger.started
            pattern = self.environment.get("VOY_CHECKPOINT_PATTERN", "")
            began = self.began_from.name if self.began_from else ""
            gone = retention.tidy(self.folder, pattern, self.keep, self.ledger.run, since, began)
            if gone:
                self.ledger.note("checkpoints removed", names=gone)

    # ── the end ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def is_finished(self, ended_well: bool) -> bool:
        """Said by the program itself, by a file of the agreed name, or by a log that counts to its own total."""
        if os.path.exists(os.path.join(self.ledger.folder, files.FINISHED)):
            return True
        pattern = self.environment.get("VOY_FINISHED", "")
        return bool(pattern and self._has_written(pattern)) or (ended_well and self.progress.is_complete)

    def _has_written(self, pattern: str) -> bool:
        """In this attempt: an older file is another run's."""
        found = saved.newest_first(self.folder, "*")
        return any(fnmatch(one.name, pattern) and one.written >= self.ledger.started - 1 for one in found)


def by_numbers(written: Sequence[Tuple[List[int], float]]) -> Facts:
    """Oldest first. Of several numbers in a name the first one that changes counts; one checkpoint tells nothing."""
    if len(written) < 2 or len(written[0][0]) != len(written[-1][0]):
        return {}
    (first, since), (last, until) = written[0], written[-1]
    place = next((number for number, value in enumerate(first) if last[number] > value), None)
    if place is None:
        return {}
    step = (last[place] - first[place]) / (len(written) - 1)
    each = (until - since) / (last[place] - first[place])
    told = {"first": first[place], "done": last[place], "at": round(until, 1), "step": step, "per_unit": round(each, 3)}
    return dict(told, by="checkpoints")
