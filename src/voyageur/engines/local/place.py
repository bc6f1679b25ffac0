"""Where a process can be seen: on another machine, or in another container, its number is somebody else's."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from msgspec import Struct


class Place(Struct, frozen=True, kw_only=True):
    """The host's name is only for people: it may change while a machine runs."""

    host: str = ""
    boot: str = ""
    processes: str = ""  # the namespace of its process numbers

    def is_here(self) -> bool:
        """A file of an older Voyageur does not say."""
        return self == Place() or self._key() == here()._key()

    def _key(self) -> tuple[str, str]:
        return self.boot or self.host, self.processes

    def in_words(self) -> str:
        return f"{self.host}, in another container" if self.boot and self.boot == here().boot else self.host


@cache
def here() -> Place:
    try:
        processes = os.readlink("/proc/self/ns/pid")
    except OSError:
        processes = ""
    return Place(host=os.uname().nodename, boot=_boot(), processes=processes)


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def started_at(pid: int) -> str:
    """When a process began, in the kernel's ticks since boot, with that boot's id; empty when it is gone."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return _started_without_proc(pid)
    fields = stat.rpartition(")")[2].split()
    return "" if fields[0] == "Z" else f"{_boot()}:{fields[19]}"


def _started_without_proc(pid: int) -> str:
    if Path("/proc/self").exists():
        return ""
    try:
        os.kill(pid, 0)
        return "alive"
    except OSError:
        return ""
