"""The local engine's own small spool: one file a job, written by the keeper that watches it."""

from __future__ import annotations

import os
import time
from pathlib import Path

import msgspec
from msgspec import Struct

from voyageur.runtime.folder import write_atomically


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
    node_list: str = ""
    submitted: float = 0.0


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

    def find(self, name: str) -> LocalJob | None:
        jobs = (self.read(path.stem) for path in self.folder.glob("*.json"))
        return next((job for job in jobs if job and job.name == name), None)

    def forget_old(self, before: float) -> None:
        """Those that ended long ago: their runs' folders know all about them."""
        for path in self.folder.glob("*.json"):
            if _written(path) < before and not ((job := self.read(path.stem)) and is_alive(job)):
                path.unlink(missing_ok=True)

    def _path(self, job: str) -> Path:
        return self.folder / f"{job}.json"


def _written(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:  # somebody else forgot it first
        return time.time()


def started_at(pid: int) -> str:
    """When a process began, in the kernel's ticks since boot, with that boot's id; empty when it is gone."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return _started_without_proc(pid)
    fields = stat.rpartition(")")[2].split()
    return "" if fields[0] == "Z" else f"{boot}:{fields[19]}"


def _started_without_proc(pid: int) -> str:
    if Path("/proc/self").exists():
        return ""
    try:
        os.kill(pid, 0)
        return "alive"
    except OSError:
        return ""


def is_alive(job: LocalJob) -> bool:
    return bool(job.keeper) and started_at(job.keeper) == job.keeper_started != ""


def old() -> float:
    return time.time() - 30 * 86_400
