"""Entries in batches, read by many hands: shared storage answers each slowly, but all at the same time."""

from __future__ import annotations

import errno
import time
import zlib
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

from voyageur.data.crew import HANDS
from voyageur.data.entries import Entry
from voyageur.data.sources import LARGE, Changed, Origin, Reading
from voyageur.data.workers import SLOT, Workers
from voyageur.job.data import tar

_AHEAD = HANDS + 8  # batches that are being read or wait to be written
_BATCH_BYTES = 1 << 20  # what a batch should hold
_FULL = SLOT - LARGE - (1 << 16)  # so that one more file and its header still fit
_BATCH_SECONDS = 0.05
_MOST = 64
_ZEROS = bytes(tar.BLOCK)
_SLOW = 0.0003  # seconds for a file
_MODES = {tar.FOLDER: 0o755, tar.LINK: 0o777}
_GONE = (errno.ENOENT, errno.ENOTDIR, errno.ESTALE)


class Part(NamedTuple):
    """One member as it stands in the slot, or why it does not."""

    header: int
    size: int
    crc: int
    moment: int
    problem: str = ""

    @property
    def length(self) -> int:
        return self.header + self.size + -self.size % tar.BLOCK


@dataclass(slots=True)
class Batch:
    """What one process has read: the first of the entries it was asked for, one after the other in its slot."""

    parts: list[Part] = field(default_factory=list)
    is_large: bool = False  # the entry after those is too large for a slot
    size: int = 0
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

    def __call__(self, slot: memoryview, entries: list[tuple[bytes, int, bytes, bytes]]) -> tuple[Any, ...]:
        """The fields of a batch, bare: what is sent to another process a million times should be small."""
        parts: list[tuple[Any, ...]] = []
        at, is_large, begin = 0, False, time.monotonic()
        for name, origin, kind, target in entries:
            if at > _FULL:
                break
            if kind != tar.FILE:
                at, part = _put(slot, at, tar.header(name, 0, _MODES[kind], kind, target), b"", 0)
                parts.append(part)
                continue
            try:
                content = self._origins[origin].fetch(name)
            except (OSError, Changed) as problem:
                parts.append((0, 0, 0, 0, why(problem)))
                continue
            if content is None:
                is_large = True
                break
            data, mode, moment = content
            at, part = _put(slot, at, tar.header(name, len(data), plain_mode(mode)), data, moment)
            parts.append(part)
        return parts, is_large, at, time.monotonic() - begin


def _put(slot: memoryview, at: int, head: bytes, data: bytes | memoryview, moment: int) -> tuple[int, tuple[Any, ...]]:
    size = len(data)
    body = at + len(head)
    end = body + size
    after = end + -size % tar.BLOCK
    slot[at:body] = head
    slot[body:end] = data
    slot[end:after] = _ZEROS[: after - end]
    return after, (len(head), size, zlib.crc32(data), moment)


class Read(NamedTuple):
    """A batch with what it is of. The slot is to be given back."""

    entries: list[Entry]
    batch: Batch
    slot: int

    @property
    def large(self) -> Entry | None:
        return self.entries[len(self.batch.parts)] if self.batch.is_large else None

    @property
    def rest(self) -> list[Entry]:
        return self.entries[len(self.batch.parts) + self.batch.is_large :]


class Batches:
    """In order, whatever the order in which they were read. A batch that grew too large comes in several."""

    def __init__(self, workers: Workers, entries: Iterator[Entry]) -> None:
        self._workers, self._entries = workers, entries
        self._running: deque[tuple[int, int, list[Entry]]] = deque()
        self._files, self._size, self._seconds = 0, 0, 0.0

    def __iter__(self) -> Iterator[Read]:
        self._refill()
        while self._running:
            read = self._answered(*self._running.popleft())
            self._refill()
            yield read
            while read.rest:
                read = self._answered(*self._ask(read.rest))
                yield read

    def _ask(self, entries: list[Entry]) -> tuple[int, int, list[Entry]]:
        return (*self._workers.ask([tuple(entry) for entry in entries]), entries)

    def _answered(self, number: int, slot: int, entries: list[Entry]) -> Read:
        parts, is_large, size, seconds = self._workers.answer(number)
        batch = Batch([Part(*part) for part in parts], is_large, size, seconds)
        self._files += len(parts) + is_large
        self._size += size + (_FULL if is_large else 0)
        self._seconds += seconds
        return Read(entries, batch, slot)

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
            self._running.append(self._ask(entries))

    def _ahead(self) -> int:
        """Where files are there at once, more questions at a time are only in each other's way."""
        waits = not self._files or self._seconds / self._files > _SLOW
        return _AHEAD if waits else 3 * self._workers.count
