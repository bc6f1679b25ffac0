"""The process that stages, one a node. A task starts it; a program that reads through need not wait for it.

It ends with the task that started it. Then another task of the node starts one, which goes on where this one was.
"""

import contextlib
import json
import os
import threading
import time
from typing import Any, Dict, List, Mapping, Optional

from voyageur.job.data.errors import DataError
from voyageur.runtime.environment import read_wish
from voyageur.runtime.folder import append_event
from voyageur.runtime.log import say
from voyageur.runtime.processes import be_modest
from voyageur.runtime.program import node_name
from voyageur.runtime.staging.arrive import Failed, NoRoom, Stage
from voyageur.runtime.staging.cargo import Changed
from voyageur.runtime.staging.carry import Above, Damaged
from voyageur.runtime.staging.hold import Arrival, Hold, hold_for
from voyageur.runtime.staging.look import NotThere
from voyageur.runtime.staging.network import PATIENCE, Server, find_above
from voyageur.runtime.staging.room import in_units
from voyageur.runtime.staging.sums import sums_of
from voyageur.runtime.staging.wanted import AT, Wanted, read_wanted

PROGRESS_SECONDS = 30.0
_SILENT_SECONDS = 10.0  # without a connection from below
_LINGER_SECONDS = 900.0  # for nodes below that are slower


def run(names: List[str]) -> int:
    environment = dict(os.environ)
    wanted = {one.name: one for one in read_wanted(environment)}
    process = Process(environment)
    worst = 0
    for name in names:
        worst = max(worst, process.stage(wanted[name]))
    process.linger()
    return worst


def _check_where_it_is(one: Wanted) -> None:
    """What travels is compared part by part; what stays on shared storage is read once for it."""
    if sums_of(one.source).digest != one.digest:
        raise Damaged("%s is not what was planned" % one.source)


class Process:
    def __init__(self, environment: Dict[str, str]) -> None:
        self.environment = environment
        self.node = node_name(environment)
        self.tree = Tree(environment)
        self._holds: List[Hold] = []
        self._last_event = time.monotonic()

    def stage(self, one: Wanted) -> int:
        if one.stage == "index":
            be_modest()
        try:
            hold = hold_for(one, self.environment, self.node)
            with hold.gate():
                self._stage(one, hold)
            return 0
        except (NotThere, Changed, Damaged, Failed, DataError, OSError) as problem:
            return self._give_up(one, problem)
        finally:
            self.tree.finish(one.name)

    def _stage(self, one: Wanted, hold: Hold) -> None:
        begun = time.monotonic()
        if hold.outcome():  # another task's process was first
            return
        self.tree.join()
        if hold.is_whole():
            self.tree.offer_whole(one.name, hold)
            hold.tell(end="kept")
            self._note("staged", one, end="kept")
            self.say("%s: is still here from before" % one.name)
            return
        wish = read_wish(self.environment) if one.is_environment else None
        stage = Stage(one, hold, self.tree.above, self.tree.offer, self._progress, wish.finish if wish else ())
        self._holds.append(hold)
        self._note("staging", one, bytes=0, how=one.stage)
        try:
            if not self._brought(stage, one, hold):
                return
        except (NotThere, Changed, Damaged, Failed, DataError, OSError) as problem:
            remedy = one.remedy if isinstance(problem, (NotThere, Changed, Damaged)) else ""
            hold.tell(end="failed", because=_in_words(problem) + remedy)
            raise
        seconds = round(time.monotonic() - begun, 2)
        facts = {"bytes": stage.size, "seconds": seconds, "shared_bytes": stage.shared_bytes}
        hold.tell(end="whole")
        self._note("staged", one, end="whole", from_nodes=stage.other_bytes, **facts)
        rate = in_units(int(stage.size / max(seconds, 0.01)))
        self.say("%s: %s in %.1f s (%s/s), %s" % (one.name, in_units(stage.size), seconds, rate, stage.origin()))

    def _brought(self, stage: Stage, one: Wanted, hold: Hold) -> bool:
        try:
            stage.run()
            return True
        except NoRoom as problem:
            if one.digest:
                _check_where_it_is(one)
            hold.tell(end="shared", because=str(problem))
            self._note("not staged", one, end="shared", because=str(problem))
            self.say("%s: does not fit on this node's disk (%s); it is read from shared storage" % (one.name, problem))
            return False

    def _give_up(self, one: Wanted, problem: Exception) -> int:
        self.tree.finish(one.name)
        self._note("not staged", one, end="failed", because=_in_words(problem))
        self.say("%s: not staged: %s" % (one.name, _in_words(problem)))
        return 1

    def _progress(self, one: Wanted, done: int, size: int) -> None:
        now = time.monotonic()
        if now - self._last_event >= PROGRESS_SECONDS and size:
            self._last_event = now
            self._note("staging", one, bytes=done, size=size, how=one.stage)
            self.say("%s: %s of %s" % (one.name, in_units(done), in_units(size)))

    def _note(self, event: str, one: Wanted, **facts: Any) -> None:
        attempt = int(self.environment.get("VOY_ATTEMPT", "0"))
        with contextlib.suppress(OSError):
            append_event(
                self.environment["VOY_RUN_DIR"], event, attempt=attempt, node=self.node, data=one.name, **facts
            )

    def say(self, text: str) -> None:
        say("%s: %s" % (self.node, text))

    def linger(self) -> None:
        """As long as nodes below want something; then archives go whose contents are unpacked."""
        self.tree.linger(_LINGER_SECONDS)
        for hold in self._holds:
            if hold.is_whole():
                hold.drop_partial()


def _in_words(problem: Exception) -> str:
    if isinstance(problem, OSError) and problem.strerror:
        return "%s%s" % (problem.strerror, " (%s)" % problem.filename if problem.filename else "")
    return " ".join(str(problem).split("\n"))


class Tree:
    """This node's place among the nodes of the job: whom it asks, and what it has for those below."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._offers: Dict[str, Optional[Arrival]] = {}
        self._told = threading.Condition()
        self._satisfied: "set[str]" = set()
        self._finished: "set[str]" = set()
        self.server: Optional[Server] = None
        self.above = Above(None, b"", 0)
        port, _, secret = environment.get(AT, "").partition(":")
        self.node = int(environment.get("SLURM_NODEID") or 0)
        count = int(environment.get("SLURM_STEP_NUM_NODES") or environment.get("SLURM_JOB_NUM_NODES") or 1)
        self._switchboard = port
        self._secret = bytes.fromhex(secret)
        self._environment = environment
        self.below = len([node for node in (2 * self.node + 1, 2 * self.node + 2) if node < count])

    def join(self) -> None:
        """Once it is known that this process is the one that stages here. Alone, it reads shared storage."""
        if not self._switchboard or self.server is not None:
            return
        with contextlib.suppress(OSError):
            self.server = Server(self._secret, self._answer)
            host = self._environment.get("SLURM_LAUNCH_NODE_IPADDR") or "127.0.0.1"
            found = find_above((host, int(self._switchboard)), self._secret, self.node, self.server.port)
            self.above = Above(found if self.node else None, self._secret, self.node)

    # ── for the nodes below ──────────────────────────────────────────────────────────────────────────────────────────

    def offer(self, name: str, arrival: Optional[Arrival]) -> None:
        """None: there is nothing to be had here, so that they look for themselves."""
        with self._told:
            self._offers[name] = arrival
            self._told.notify_all()

    def offer_whole(self, name: str, hold: Hold) -> None:
        cargo = hold.cargo()
        there = cargo and all(os.path.lexists(os.path.join(hold.whole, item.name)) for item in cargo.items[:1])
        self.offer(name, Arrival(hold, cargo) if cargo and there else None)

    def finish(self, name: str) -> None:
        """Nothing more comes here; who waits for the rest waits no longer."""
        with self._told:
            arrival = self._offers.setdefault(name, None)
            self._finished.add(name)
            self._told.notify_all()
        if arrival:
            arrival.fail()
        self.above.done(name)

    def _answer(self, question: Dict[str, Any], peer: str) -> bytes:
        name = str(question["name"])
        if question["want"] == "nothing more":
            with self._told:
                self._satisfied.add("%s %s" % (question["node"], name))
                self._told.notify_all()
            return b""
        arrival = self._offer(name)
        if arrival is None:
            return b""
        if question["want"] == "cargo":
            return json.dumps(arrival.cargo.as_json()).encode("ascii")
        number = int(question["number"])
        try:
            return arrival.content(number) if arrival.wait(number, PATIENCE / 2) else b""
        except OSError:
            return b""

    def _offer(self, name: str) -> Optional[Arrival]:
        with self._told:
            self._told.wait_for(lambda: name in self._offers, PATIENCE / 2)
            return self._offers.get(name)

    def linger(self, seconds: float) -> None:
        """Until the nodes below have had all they wanted."""
        if self.server is None or not self.below:
            return
        expected = self.below * len(self._finished)
        deadline, asked_at = time.monotonic() + seconds, time.monotonic()
        with self._told:
            while len(self._satisfied) < expected and time.monotonic() < deadline:
                if self.server.asked:
                    asked_at = time.monotonic()
                if time.monotonic() - asked_at > _SILENT_SECONDS:  # they have ended, or never came
                    return
                self._told.wait(0.2)
