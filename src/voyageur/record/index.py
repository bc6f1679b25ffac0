"""A memory of what the runs' folders said, so that they need not all be read again. Delete it: nothing is lost."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterable
from pathlib import Path

import msgspec
from msgspec import Struct


class Entry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the list of runs shows of one, and how long its event log was when that was true."""

    folder: str
    run: str
    job_name: str
    project: str
    site: str
    engine: str
    command: str
    created: float
    state: str
    because: str = ""
    job: str | None = None
    exit_code: int | None = None
    ended: float | None = None
    started: float | None = None
    attempt: int = 0
    events_size: int = 0
    final: bool = False


class Index:
    def __init__(self, file: Path) -> None:
        self.file = file
        self._decode = msgspec.json.Decoder(Entry).decode

    def read(self) -> dict[str, Entry]:
        """Later lines win; a line that cannot be read is as good as none."""
        entries: dict[str, Entry] = {}
        with contextlib.suppress(OSError):
            for line in self.file.read_bytes().splitlines():
                with contextlib.suppress(msgspec.MsgspecError, ValueError):
                    entry = self._decode(line)
                    entries[entry.folder] = entry
        return entries

    def add(self, entries: Iterable[Entry]) -> None:
        lines = b"".join(msgspec.json.encode(entry) + b"\n" for entry in entries)
        if not lines:
            return
        with contextlib.suppress(OSError):  # a cache that cannot be written costs time, not truth
            self.file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with open(self.file, "ab", opener=_private) as file:
                fcntl.lockf(file, fcntl.LOCK_EX)
                file.write(lines)

    def compact(self, entries: dict[str, Entry]) -> None:
        temporary = self.file.with_suffix(f".{os.getpid()}")
        with contextlib.suppress(OSError):
            with open(temporary, "wb", opener=_private) as file:
                file.write(b"".join(msgspec.json.encode(entry) + b"\n" for entry in entries.values()))
            temporary.rename(self.file)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
