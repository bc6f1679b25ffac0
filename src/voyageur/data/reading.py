"""Entries in batches, read by many threads: each answers slowly on shared storage, but all at the same time."""

from __future__ import annotations

import errno
import zlib
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice

from voyageur.data.entries import Entry
from voyageur.data.sources import Changed, Origin, Reading, Stamp
from voyageur.job.data import tar

HANDS = 32
_AHEAD = HANDS + 8  # batches that are being read or wait to be written
_BATCH_BYTES = 1 << 20  # what a batch should hold; and four times of it what it may hold
_MOST = 64
_GONE = (errno.ENOENT, errno.ENOTDIR, errno.ESTALE)


@dataclass(slots=True)
class Part:
    """One member as it will stand in the archive."""

    entry: Entry
    pieces: list[bytes | memoryview]
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
    parts: list[Part] = field(default_factory=list)
    large: Entry | None = None  # comes after the parts
    rest: list[Entry] = field(default_factory=list)  # and these after that
    size: int = 0


def plain_mode(mode: int) -> int:
    """Who packs must not show in the pack."""
    return 0o755 if mode & 0o100 else 0o644


def why(problem: Exception) -> str:
    if isinstance(problem, OSError):
        return "it has gone" if problem.errno in _GONE else problem.strerror or str(problem)
    return str(problem)


def read_batch(origins: Sequence[Origin], entries: list[Entry]) -> Batch:
    batch = Batch()
    for number, entry in enumerate(entries):
        if batch.size > 4 * _BATCH_BYTES:
            batch.rest = entries[number:]
            return batch
        if entry.kind != tar.FILE:
            batch.parts.append(_without_contents(entry))
            continue
        try:
            content = origins[entry.origin].fetch(entry.name)
        except (OSError, Changed) as problem:
            batch.parts.append(Part(entry, [], 0, 0, 0, Stamp(0, 0), why(problem)))
            continue
        if content is None:
            batch.large, batch.rest = entry, entries[number + 1 :]
            return batch
        data, mode, stamp = content
        head = tar.header(entry.name, stamp.size, plain_mode(mode))
        pieces = [head, data, tar.padding(stamp.size)]
        batch.parts.append(Part(entry, pieces, len(head), stamp.size, zlib.crc32(data), stamp))
        batch.size += stamp.size
    return batch


def _without_contents(entry: Entry) -> Part:
    mode = 0o755 if entry.kind == tar.FOLDER else 0o777
    head = tar.header(entry.name, 0, mode, entry.kind, entry.target)
    return Part(entry, [head], len(head), 0, 0, Stamp(0, 0))


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


class Batches:
    """In order, whatever the order in which they were read. A batch that grew too large comes in several."""

    def __init__(self, pool: ThreadPoolExecutor, origins: Sequence[Origin], entries: Iterator[Entry]) -> None:
        self._pool, self._origins, self._entries = pool, origins, entries
        self._running: deque[Future[Batch]] = deque()
        self._read, self._size = 0, 0

    def __iter__(self) -> Iterator[Batch]:
        self._refill()
        while self._running:
            batch = self._running.popleft().result()
            self._refill()
            yield self._weighed(batch)
            while batch.rest:
                batch = self._pool.submit(read_batch, self._origins, batch.rest).result()
                yield self._weighed(batch)

    def _weighed(self, batch: Batch) -> Batch:
        self._read += len(batch.parts) + (batch.large is not None)
        self._size += batch.size + (4 * _BATCH_BYTES if batch.large else 0)
        return batch

    def _refill(self) -> None:
        """Few large files or many small ones: about as much in each."""
        usual = self._size / self._read if self._read else _BATCH_BYTES / 8
        count = min(_MOST, max(1, int(_BATCH_BYTES / (usual + 1))))
        while len(self._running) < _AHEAD:
            entries = list(islice(self._entries, count))
            if not entries:
                return
            self._running.append(self._pool.submit(read_batch, self._origins, entries))
