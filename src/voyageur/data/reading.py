"""Entries in batches, read by many hands: shared storage answers each slowly, but all at the same time."""

from __future__ import annotations

import errno
import time
import zlib
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from voyageur.data.crew import HANDS
from voyageur.data.entries import Entry
from voyageur.data.sources import LARGE, Changed, Origin, Reading, Stamp
from voyageur.data.workers import SLOT, Workers
from voyageur.job.data import tar

_AHEAD = HANDS + 8  # batches that are being read or wait to be written
_BATCH_BYTES = 1 << 20  # what a batch should hold
_FULL = SLOT - LARGE - (1 << 16)  # so that one more file and its header still fit
_BATCH_SECONDS = 0.05
_MOST = 64
_SLOW = 0.0003  # seconds for a file
_MODES = {tar.FOLDER: 0o755, tar.LINK: 0o777}
_GONE = (errno.ENOENT, errno.ENOTDIR, errno.ESTALE)


@dataclass(slots=True)
class Part:
    """One member as it will stand in the archive."""

    entry: Entry
    header: int
    size: int
    crc: int
    stamp: Stamp
    problem: str = ""  # why it is not in the archive

    @property
    def length(self) -> int:
        return self.header + self.size + -self.size % tar.BLOCK


@dataclass(slots=True)
class Batch:
    """What one process has read. The contents are in the slot, as they will stand in the archive."""

    parts: list[Part] = field(default_factory=list)
    large: Entry | None = None  # comes after the parts
    rest: list[Entry] = field(default_factory=list)  # and these after that
    size: int = 0
    files: int = 0
    seconds: float = 0.0


def plain_mode(mode: int) -> int:
    """Who packs must not show in the pack."""
    return 0o755 if mode & 0o100 else 0o644


def why(problem: Exception) -> str:
    if isinstance(problem, OSError):
        return "it has gone" if problem.errno in _GONE else problem.strerror or str(problem)
    return str(problem)


def open_large(origin: Origin, name: bytes) -> Reading:
    try:
        return origin.open(name)
    except OSError as problem:
        raise Changed(why(problem)) from None


def read_piece(reading: Reading, offset: int, size: int) -> bytes | memoryview:
    try:
        return reading.piece(offset, size)
    except OSError as problem:
        raise Changed(why(problem)) from None


class Reader:
    """The work of one process: entries in, a slot filled."""

    def __init__(self, origins: Sequence[Origin]) -> None:
        self._origins = origins

    def __call__(self, slot: memoryview, entries: list[Entry]) -> Batch:
        batch = Batch()
        begin = time.monotonic()
        for number, entry in enumerate(entries):
            if batch.size > _FULL:
                batch.rest = entries[number:]
                break
            if not self._read(entry, batch, slot):
                batch.large, batch.rest = entry, entries[number + 1 :]
                break
        batch.seconds = time.monotonic() - begin
        return batch

    def _read(self, entry: Entry, batch: Batch, slot: memoryview) -> bool:
        """False when it is too large for a batch."""
        if entry.kind != tar.FILE:
            head = tar.header(entry.name, 0, _MODES[entry.kind], entry.kind, entry.target)
            self._put(batch, slot, Part(entry, len(head), 0, 0, Stamp(0, 0)), head, b"")
            return True
        try:
            content = self._origins[entry.origin].fetch(entry.name)
        except (OSError, Changed) as problem:
            batch.parts.append(Part(entry, 0, 0, 0, Stamp(0, 0), why(problem)))
            return True
        if content is None:
            return False
        data, mode, stamp = content
        head = tar.header(entry.name, stamp.size, plain_mode(mode))
        self._put(batch, slot, Part(entry, len(head), stamp.size, zlib.crc32(data), stamp), head, data)
        return True

    @staticmethod
    def _put(batch: Batch, slot: memoryview, part: Part, head: bytes, data: bytes | memoryview) -> None:
        start = batch.size
        body = start + part.header
        end = body + part.size
        batch.size = start + part.length
        slot[start:body] = head
        slot[body:end] = data
        slot[end : batch.size] = bytes(batch.size - end)
        batch.parts.append(part)


class Batches:
    """In order, whatever the order in which they were read. A batch that grew too large comes in several."""

    def __init__(self, workers: Workers, entries: Iterator[Entry]) -> None:
        self._workers, self._entries = workers, entries
        self._running: deque[tuple[int, int]] = deque()
        self._files, self._size, self._seconds = 0, 0, 0.0

    def __iter__(self) -> Iterator[tuple[Batch, int]]:
        """Each with its slot, which is to be given back."""
        self._refill()
        while self._running:
            number, slot = self._running.popleft()
            batch = self._weighed(self._workers.answer(number))
            self._refill()
            yield batch, slot
            while batch.rest:
                number, slot = self._workers.ask(batch.rest)
                batch = self._weighed(self._workers.answer(number))
                yield batch, slot

    def _weighed(self, batch: Batch) -> Batch:
        self._files += len(batch.parts) + (batch.large is not None)
        self._size += batch.size + (4 * _BATCH_BYTES if batch.large else 0)
        self._seconds += batch.seconds
        return batch

    def _refill(self) -> None:
        """Few large files or many small ones: about as much in each batch, of bytes and of waiting."""
        usual = self._size / self._files if self._files else _BATCH_BYTES / 8
        wait = self._seconds / self._files if self._files else 0
        waited = max(8.0, _BATCH_SECONDS / (wait + 1e-6))
        count = max(1, int(min(_MOST, _BATCH_BYTES / (usual + 1), waited)))
        while len(self._running) < self._ahead():
            entries = list(islice(self._entries, count))
            if not entries:
                return
            self._running.append(self._workers.ask(entries))

    def _ahead(self) -> int:
        """Where files are there at once, more questions at a time are only in each other's way."""
        waits = not self._files or self._seconds / self._files > _SLOW
        return _AHEAD if waits else 3 * self._workers.count
