"""What one attempt writes into its run's folder. What cannot be written is said aloud; it never ends the run."""

import contextlib
import json
import os
import time
from typing import Any, Dict, List, Mapping

from voyageur.runtime import folder as files
from voyageur.runtime.log import say
from voyageur.runtime.program import node_name

_MARKER_ROOM = 16_384  # bytes
_MARKER_PAUSES = (0.5, 1.0, 2.0, 3.0, 0.0)  # seconds between tries, while the disk is full


class Ledger:
    def __init__(self, environment: Mapping[str, str]) -> None:
        self.folder = environment["VOY_RUN_DIR"]
        self.run = environment["VOY_RUN"]
        self.token = environment["VOY_TOKEN"]
        self.job = environment.get("SLURM_JOB_ID", "0")
        self.submission = environment.get("VOY_SUBMISSION") or files.BY_HAND
        self.array = environment.get("SLURM_ARRAY_JOB_ID", "")
        self.piece = int(environment.get("SLURM_ARRAY_TASK_ID") or 0)
        self.node = node_name(environment)
        self.started = time.time()
        self.attempt = 0

    def claim(self) -> None:
        """Raises Duplicate when another job of this submission came first, OSError when nothing can be written."""
        self.attempt = files.claim_attempt(self.folder, self._facts())
        for name in (files.STOP, files.SAVE, files.FINISHED):
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(self.folder, name))

    def _facts(self) -> Dict[str, Any]:
        return {
            "job": self.job,
            "submission": self.submission,
            "array": self.array,
            "node": self.node,
            "pid": os.getpid(),
            "started": self.started,
            "beat": time.time(),
        }

    # ── what is there ────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def is_by_hand(self) -> bool:
        return self.submission == files.BY_HAND

    def last_event(self, *names: str) -> str:
        found = (event["event"] for event in reversed(files.read_events(self.folder)) if event["event"] in names)
        return str(next(found, ""))

    def own_events(self, name: str) -> List[files.Json]:
        found = (event for event in files.read_events(self.folder) if event["event"] == name)
        return [event for event in found if event.get("attempt") == self.attempt]

    def submissions(self) -> int:
        """How many there have been of this run, by whomever."""
        numbers = [files.submission_from(self.submission).number, 1]
        for event in files.read_events(self.folder):
            numbers.append(files.submission_from(str(event.get("submission", ""))).number)
        return max(numbers)

    def stop_was_asked(self) -> bool:
        return self.last_event("resumed", "stop asked", "stop failed") == "stop asked"

    def resumed(self) -> files.Json:
        """What was asked for when the run was last resumed: another time limit, more pieces."""
        return next((event for event in reversed(files.read_events(self.folder)) if event["event"] == "resumed"), {})

    def wishes(self) -> Dict[str, str]:
        """What `voy resume` asked to be different, as the script's own variables."""
        names = {"VOY_TIME_LIMIT": "time_limit", "VOY_WARN": "warn", "VOY_PIECES": "pieces"}
        asked = {**self.resumed(), **self._sized()}
        return {} if self.is_by_hand else {name: str(asked[key]) for name, key in names.items() if asked.get(key)}

    def _sized(self) -> files.Json:
        """What the piece before this one found to be enough for it."""
        mine = ("%s_%d" % (self.array, self.piece) if self.array else self.job, self.job)
        events = (event for event in files.read_events(self.folder) if event["event"] == "piece sized")
        found = [event["time_limit"] for event in events if event.get("of") in mine]
        return {"time_limit": found[-1]} if found else {}

    def place_in_chain(self) -> Dict[str, Any]:
        return {"submission": self.submission, "array": self.array, "piece": self.piece} if self.array else {}

    def is_superseded(self) -> bool:
        """Not known while the file system does not answer; a run does not die of that."""
        with contextlib.suppress(OSError):
            newest = files.newest_attempt(self.folder)
            return bool(newest and newest.number > self.attempt)
        return False

    def missing_secrets(self) -> List[str]:
        """They are removed when a run has ended; somebody who starts its script once more has none."""
        spec = (files.read_json(os.path.join(self.folder, files.RECORD)) or {}).get("spec") or {}
        names = (spec.get("env.secrets") or {}).get("value") or []
        return [] if os.path.exists(os.path.join(self.folder, files.SECRETS)) else list(names)

    # ── while it runs ────────────────────────────────────────────────────────────────────────────────────────────────

    def beat(self, usage: files.Json, **more: Any) -> None:
        facts = dict(self._facts(), attempt=self.attempt, usage=usage, **more)
        with contextlib.suppress(OSError):  # a full disk must not end a run that could still save its work
            files.write_atomically(files.attempt_path(self.folder, self.attempt), json.dumps(facts).encode("utf-8"))

    def ask_to_stop(self) -> None:
        with contextlib.suppress(OSError):
            files.write_atomically(os.path.join(self.folder, files.STOP), b"time is nearly up\n")

    def note(self, event: str, **facts: Any) -> None:
        try:
            files.append_event(self.folder, event, attempt=self.attempt, job=self.job, **facts)
        except OSError as problem:
            self.say("an event could not be written down: %s" % problem)

    def say(self, text: str) -> None:
        say(text)

    # ── the end ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def reserve(self) -> None:
        """Room for the marker, so that a program that fills the disk does not hide how it ended."""
        with contextlib.suppress(OSError):
            files.write_atomically(os.path.join(self.folder, files.RESERVE), b"." * _MARKER_ROOM)

    def give_room(self) -> None:
        with contextlib.suppress(OSError):
            os.unlink(os.path.join(self.folder, files.RESERVE))

    def finish(self, how: str, code: int, usage: files.Json, **more: Any) -> None:
        """The final marker, unless a newer attempt has taken over."""
        if self.is_superseded():
            return
        facts = {
            "run": self.run,
            "token": self.token,
            "attempt": self.attempt,
            "job": self.job,
            "node": self.node,
            "end": how,
            "exit_code": max(code, 0),
            "signal": max(-code, 0),
            "started": self.started,
            "ended": time.time(),
            "usage": usage,
        }
        facts.update(more)
        self.give_room()
        self._mark(facts)
        with contextlib.suppress(OSError):
            os.unlink(os.path.join(self.folder, files.SECRETS))

    def _mark(self, facts: Dict[str, Any]) -> None:
        for pause in _MARKER_PAUSES:
            try:
                files.write_marker(self.folder, facts, self.token)
                return
            except OSError as problem:
                self.say("how it ended (%s) cannot be written down: %s" % (facts["end"], problem))
            time.sleep(pause)
