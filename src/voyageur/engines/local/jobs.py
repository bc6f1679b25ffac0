"""The local engine's own small spool: one file a job, written by the keeper that watches it."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

import msgspec
from msgspec import Struct

from voyageur.engines.local.place import Place, started_at
from voyageur.runtime.folder import SILENT_SECONDS, newest_attempt, write_atomically

READY = "ready"  # what a keeper says once it has written down who it is
_SILENT_ELSEWHERE = 2 * SILENT_SECONDS  # a shared file system may show a sign of life late


class LocalJob(Struct, frozen=True, kw_only=True):
    """What `squeue` and `sacct` would know. A keeper is told from another process of its number by when it started."""

    job: str
    name: str
    folder: str
    script: str
    arguments: tuple[str, ...]
    nodes: int
    tasks_per_node: int
    cpus_per_task: int
    time_limit: int
    warn: int
    kill_wait: int
    array: tuple[int, ...] = ()
    state: str = "PENDING"
    exit_code: int = 0
    signal: int = 0
    keeper: int = 0
    keeper_started: str = ""
    place: Place = Place()
    node_list: str = ""
    submitted: float = 0.0

    @property
    def has_ended(self) -> bool:
        return self.state not in ("PENDING", "RUNNING")


class Spool:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def new_id(self) -> str:
        """The next number; a file that only one can make settles who has it."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        number = max((int(path.stem) for path in self.folder.glob("*.json") if path.stem.isdigit()), default=0)
        while True:
            number += 1
            try:
                os.close(os.open(self._path(str(number)), os.O_CREAT | os.O_EXCL, 0o600))
                return str(number)
            except FileExistsError:
                continue

    def write(self, job: LocalJob) -> None:
        write_atomically(str(self._path(job.job)), msgspec.json.encode(job))

    def read(self, job: str) -> LocalJob | None:
        try:
            return msgspec.json.decode(self._path(job).read_bytes(), type=LocalJob)
        except (OSError, msgspec.MsgspecError, ValueError):
            return None

    def again(self, job: str) -> Path:
        """The file by which a job asks to be started once more."""
        return self.folder / f"{job}.again"

    def find(self, name: str) -> LocalJob | None:
        jobs = (self.read(path.stem) for path in self.folder.glob("*.json"))
        return next((job for job in jobs if job and job.name == name), None)

    def forget_old(self, before: float) -> None:
        """Those that ended long ago: their runs' folders know all about them."""
        for path in self.folder.glob("*.json"):
            if _written(path) < before and not ((job := self.read(path.stem)) and may_run(job)):
                path.unlink(missing_ok=True)

    def _path(self, job: str) -> Path:
        return self.folder / f"{job}.json"


def _written(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:  # somebody else forgot it first
        return time.time()


def is_alive(job: LocalJob) -> bool:
    """Its keeper, which only those in the same place can see."""
    return bool(job.keeper) and job.place.is_here() and started_at(job.keeper) == job.keeper_started != ""


def is_silent(job: LocalJob, folder: str) -> bool:
    """No sign of life in the run's folder, which is all that can be seen of it from another place."""
    beat = job.submitted
    with contextlib.suppress(OSError):
        if newest := newest_attempt(folder):
            beat = max(beat, newest.beat)
    return time.time() - beat > _SILENT_ELSEWHERE


def may_run(job: LocalJob) -> bool:
    if job.place.is_here():
        return is_alive(job)
    return not job.has_ended and not is_silent(job, job.folder)


def old() -> float:
    return time.time() - 30 * 86_400
