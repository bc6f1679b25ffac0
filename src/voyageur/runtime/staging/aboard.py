"""What one task of the run does about its datasets: asks for them, waits where it must, knows where they are."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from typing import Any, Callable, Dict, List, Mapping, Optional

from voyageur.job.data.errors import DataError
from voyageur.job.data.index import SUFFIX
from voyageur.job.data.staged import VARIABLE
from voyageur.runtime import processes
from voyageur.runtime.folder import RUNTIME, write_atomically
from voyageur.runtime.log import say
from voyageur.runtime.staging import look as kinds
from voyageur.runtime.staging.hold import Hold, hold_for
from voyageur.runtime.staging.look import NotThere, look
from voyageur.runtime.staging.mount import CannotMount, Mounted, tool_for
from voyageur.runtime.staging.wanted import (
    Wanted,
    in_words,
    plain_name,
    read_wanted,
    unpacked_name,
)

_TABLE = ".voyageur.data-%s.json"

_HAND_ON_SECONDS = 60.0

Pause = Callable[[float], bool]  # false when the run was told to stop


class StagingError(Exception):
    """A dataset cannot be had as the plan says."""


class Stopped(Exception):
    """The run was told to stop while it waited for its datasets."""


class Aboard:
    def __init__(self, environment: Mapping[str, str], node: str, place: str) -> None:
        self.node = node
        self.place = place  # the run's own folder on the node
        self.wanted = [self._possible(one) for one in read_wanted(environment)]
        self.environment = dict(environment, VOY_STAGE=in_words(self.wanted))
        self._holds: Dict[str, Hold] = {}
        self._mounted: List[Mounted] = []
        self._links: List[str] = []
        self._process: Optional["subprocess.Popen[bytes]"] = None

    @property
    def stayers(self) -> List[int]:
        """What goes on when the program here has ended: for the nodes below, and until its mounts are let go of."""
        return [mounted.process_id for mounted in self._mounted] + ([self._process.pid] if self._process else [])

    def _possible(self, one: Wanted) -> Wanted:
        """What this node cannot mount is unpacked."""
        if one.stage != "mount" or tool_for(self._kind(one)):
            return one
        say("%s: no program on %s mounts a %s; it is unpacked" % (one.name, self.node, self._kind(one)))
        return one._replace(stage="unpack")

    def _kind(self, one: Wanted) -> str:
        try:
            return look(one.source, most=1).kind
        except (NotThere, DataError) as problem:
            raise StagingError("%s on %s: %s%s" % (one, self.node, problem, one.remedy)) from None

    # ── arriving ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def board(self, pause: Pause) -> None:
        """Returns when everything is there that the program cannot do without. Raises StagingError or Stopped."""
        for one in self.wanted:
            if one.stage != "none":
                self._holds[one.name] = self._hold(one)
        self.mind()
        for one in self.wanted:
            if one.stage not in ("none", "index"):
                self._wait_for(one, pause)
            if one.stage == "mount":
                self._mount(one)
        self._link_older_names()

    def _hold(self, one: Wanted) -> Hold:
        try:
            return hold_for(one, self.environment, self.node)
        except (NotThere, DataError, OSError) as problem:
            raise StagingError("%s on %s: %s%s" % (one, self.node, problem, one.remedy)) from None

    def mind(self) -> None:
        """A process that stages, if something is missing and nobody on this node is at it."""
        if self._process is not None and self._process.poll() is None:
            return
        missing = [one.name for one in self._in_order() if self._is_left_alone(self._holds[one.name])]
        if missing:
            self._process = self._start(missing)

    def _in_order(self) -> List[Wanted]:
        """First what the program waits for."""
        staged = [one for one in self.wanted if one.name in self._holds]
        return sorted(staged, key=lambda one: one.stage == "index")

    def _is_left_alone(self, hold: Hold) -> bool:
        """Also when it is whole from before: the nodes below may want it, and somebody has to say so."""
        if hold.outcome():
            return False
        with hold.gate(wait=False) as free:
            return free

    def _start(self, names: List[str]) -> "subprocess.Popen[bytes]":
        runtime = os.path.join(self.environment["VOY_RUN_DIR"], RUNTIME)
        return subprocess.Popen(
            [sys.executable, "-I", runtime, "stage", "--", *names],
            env=dict(self.environment),
            cwd=self.place,
            stdin=subprocess.DEVNULL,
            stdout=2,
            start_new_session=True,
            preexec_fn=processes.at_parents_death(signal.SIGKILL),
        )

    def _wait_for(self, one: Wanted, pause: Pause) -> None:
        hold = self._holds[one.name]
        while not hold.outcome():
            if not pause(0.05):
                raise Stopped()
            self.mind()
        outcome = hold.outcome()
        if outcome["end"] == "failed":
            raise StagingError("%s on %s: %s" % (one, self.node, outcome["because"]))

    def _mount(self, one: Wanted) -> None:
        try:
            self._mounted.append(Mounted(self._kind(one), self._file(one), self._mount_point(one)))
        except CannotMount as problem:
            raise StagingError("%s on %s: %s" % (one, self.node, problem)) from None

    def _mount_point(self, one: Wanted) -> str:
        return os.path.join(self.place, "mnt-" + self.environment.get("SLURM_PROCID", "0"), one.name)

    def _link_older_names(self) -> None:
        """`-d datasets/x` is found at $SLURM_TMPDIR/datasets/x, as the older scripts had it."""
        for one in self.wanted:
            if one.at:
                path = os.path.join(self.place, one.at)
                os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
                with contextlib.suppress(FileExistsError):
                    os.symlink(self.path(one), path)
                self._link_in_the_sites_folder(one.at.split("/")[0])

    def _link_in_the_sites_folder(self, first: str) -> None:
        """Where $SLURM_TMPDIR is not ours. What is there under that name already is left alone."""
        site = self.environment.get("VOY_SITE_TMPDIR", "")
        if os.path.isdir(site):
            with contextlib.suppress(OSError):
                os.symlink(os.path.join(self.place, first), os.path.join(site, first))
                self._links.append(os.path.join(site, first))

    # ── where it is ──────────────────────────────────────────────────────────────────────────────────────────────────

    def path(self, one: Wanted) -> str:
        """What `{data.NAME}` stands for. A pack that is still arriving is whole on shared storage only."""
        if one.stage == "mount":
            return self._mount_point(one)
        return one.source if one.stage == "index" else self._file(one)

    def paths(self) -> Dict[str, str]:
        return {one.name: self.path(one) for one in self.wanted}

    def environment_folder(self) -> str:
        """Where the run's environment is on this node; empty when none travelled."""
        return next((self.path(one) for one in self.wanted if one.is_environment), "")

    def folders(self) -> List[str]:
        """All that a program needs to see of its datasets: where they are on this node, and where they came from."""
        held = [self._holds[one.name].path for one in self.wanted if one.name in self._holds]
        mounted = [self._mount_point(one) for one in self.wanted if one.stage == "mount"]
        return [*held, *mounted, *(os.path.dirname(os.path.normpath(one.source)) for one in self._datasets())]

    def _datasets(self) -> List[Wanted]:
        return [one for one in self.wanted if one.is_dataset]

    def _file(self, one: Wanted) -> str:
        hold = self._holds.get(one.name)
        if hold is None or not hold.is_whole():
            return one.source
        return os.path.join(hold.whole, _name_in_hold(one))

    def _entry(self, one: Wanted) -> Dict[str, Any]:
        entry: Dict[str, Any] = {"from": one.source, "path": self.path(one)}
        if one.stage == "index":
            hold = self._holds[one.name]
            entry.update(path=os.path.join(hold.whole, plain_name(one.source)), source="arriving", hold=hold.path)
            entry.update(shared=os.path.dirname(os.path.normpath(one.source)))
            if not os.path.exists(entry["path"] + SUFFIX):
                entry["index"] = os.path.normpath(one.source) + SUFFIX
        return entry

    def variables(self) -> Dict[str, str]:
        """The table that `data.open` looks into, for this task."""
        if not self._datasets():
            return {}
        path = os.path.join(self.place, _TABLE % self.environment.get("SLURM_PROCID", "0"))
        table = {"version": 1, "data": {one.name: self._entry(one) for one in self._datasets()}}
        write_atomically(path, json.dumps(table).encode("ascii"))
        return {VARIABLE: path}

    # ── leaving ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def hand_on(self, pause: Pause) -> None:
        """What is whole here is still on its way to other nodes of the run: they would read shared storage again."""
        deadline = time.monotonic() + _HAND_ON_SECONDS
        while self._process is not None and self._process.poll() is None and time.monotonic() < deadline:
            if not all(hold.outcome() for hold in self._holds.values()) or not pause(0.05):
                return

    def leave(self, comes_back: bool = False) -> None:
        for mounted in self._mounted:
            mounted.end()
        for link in self._links:
            with contextlib.suppress(OSError):
                os.unlink(link)
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            self._process.wait()
        for hold in self._holds.values():
            hold.leave(comes_back)


def _name_in_hold(one: Wanted) -> str:
    if one.stage == "unpack" and look(one.source, most=1).kind in kinds.ARCHIVES:
        return unpacked_name(one.source)
    return plain_name(one.source)
