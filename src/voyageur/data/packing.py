"""Folders and archives into one pack: read by many, written in order, gone on with where it was interrupted."""

from __future__ import annotations

import contextlib
import itertools
import zlib
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from itertools import islice

from voyageur.data.crew import HANDS
from voyageur.data.entries import Entries, Entry
from voyageur.data.journal import MISSED, Done
from voyageur.data.part import PartFolder
from voyageur.data.reading import Batches, Read, Reader, open_large, plain_mode, read_piece
from voyageur.data.sources import Changed, Origin, Reading
from voyageur.data.workers import Workers
from voyageur.data.writing import Content, Shelf, write_at
from voyageur.job.data import tar
from voyageur.job.data.index import Builder

_PIECE = 4 << 20  # of a large file
_PIECES_AHEAD = 8
_WRITES_AHEAD = 8
_TIMES = 3

Told = Callable[[int, int], None]  # members, and bytes, that are now in the pack
Problem = tuple[bytes, str]


@dataclass
class Report:
    """What became of it."""

    paths: list[str] = field(default_factory=list)
    members: int = 0
    size: int = 0  # of the archives
    went_on_at: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    examples: dict[str, bytes] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)


class Packing:
    def __init__(
        self, part: PartFolder, origins: Sequence[Origin], entries: Entries, shard: int, told: Told, report: Report
    ) -> None:
        self._origins, self._told = origins, told
        self._entries: Iterator[Entry] = iter(entries)
        self._shelf = Shelf(part.path, part.name, shard)
        self._journal = part.journal
        self._builder = Builder()
        self._others = 0  # links, and folders with nothing in them
        self._writes: deque[tuple[Future[None], Future[None], Sequence[Done], int | None]] = deque()
        self.report = report

    def run(self) -> None:
        with contextlib.ExitStack() as stack:
            self._workers = stack.enter_context(contextlib.closing(Workers(Reader(self._origins))))
            self._readers = stack.enter_context(_Pool(HANDS, "read"))
            # one: a file system lets only one at a time write into a file
            self._writer = stack.enter_context(_Pool(1, "write"))
            self._hasher = stack.enter_context(_Pool(1, "hash"))
            self._go_on()
            for read in Batches(self._workers, self._entries):
                self._take(read)
                if read.large:
                    self._take_large(read.large)
            self._settle()

    def finish(self, **about: object) -> list[bytes]:
        """The pieces of the index."""
        archives = self._shelf.finish()
        self.report.size = sum(archive.size for archive in archives)
        self.report.members = len(self._builder) + self._others
        return self._builder.parts(archives, self._shelf.chunks, others=self._others, **about)

    # ── small files, many at once ──

    def _take(self, read: Read) -> None:
        content, at, written = self._workers.content(read.slot, read.batch.size), 0, 0
        group: list[Done] = []
        for entry, part in zip(read.entries, read.batch.parts, strict=False):  # the rest comes later
            here = self._shelf.size + at - written
            if part.problem:
                group.append(self._miss(entry, part.problem))
                continue
            if self._shelf.is_full_before(entry.name, here):
                self._append(content[written:at], group)
                self._begin_next()
                group, written, here = [], at, 0
            at += part.length
            end = self._shelf.size + at - written
            header, size, crc, moment, _ = part
            number = self._shelf.number
            group.append(Done(entry.name, here, here + header, size, moment, end, crc, number, entry.kind))
            self._count(group[-1])
        self._append(content[written:at], group, read.slot)
        self._told(len(read.batch.parts), at)

    def _miss(self, entry: Entry, reason: str) -> Done:
        self.report.problems.append((entry.name, reason))
        return Done(entry.name, 0, 0, 0, 0, 0, 0, self._shelf.number, MISSED)

    def _count(self, done: Done) -> None:
        if done.kind == tar.FILE:
            self._builder.add(done.name, done.offset, done.size, done.crc, done.archive)
        else:
            self._others += 1

    def _append(self, content: Content, group: Sequence[Done] = (), slot: int | None = None) -> None:
        shelf = self._shelf
        written = self._writer.submit(write_at, shelf.descriptor, content, shelf.size)
        self._writes.append((written, self._hasher.submit(shelf.digests.update, content), group, slot))
        shelf.size += len(content)
        self._settle(_WRITES_AHEAD)

    def _settle(self, left: int = 0) -> None:
        """Waits until all but so many are written, and notes them."""
        while len(self._writes) > left:
            written, hashed, group, slot = self._writes.popleft()
            written.result()
            hashed.result()
            if slot is not None:
                self._workers.give_back(slot)
            if group:
                self._journal.append(group)

    def _begin_next(self) -> None:
        self._settle()
        self._shelf.begin_next()

    # ── large files, piece by piece ──

    def _take_large(self, entry: Entry) -> None:
        if self._shelf.is_full_before(entry.name, self._shelf.size):
            self._begin_next()
        self._settle()
        for left in reversed(range(_TIMES)):
            before = self._shelf.size, self._shelf.digests.copy()
            try:
                with contextlib.closing(open_large(self._origins[entry.origin], entry.name)) as reading:
                    done = self._copy(entry, reading)
                break
            except Changed as problem:
                self._settle()
                self._shelf.size, self._shelf.digests = before
                if not left:
                    done = self._miss(entry, str(problem))
        self._settle()
        self._journal.append([done])
        self._told(1, done.end - done.start)

    def _copy(self, entry: Entry, reading: Reading) -> Done:
        start, size, moment = self._shelf.size, reading.stamp.size, reading.stamp.moment
        head = tar.header(entry.name, size, plain_mode(reading.mode))
        self._append(head)
        crc = 0
        for piece in self._pieces(reading, size):
            crc = zlib.crc32(piece, crc)
            self._append(piece)
        self._append(tar.padding(size))
        reading.finish()
        offset, end = start + len(head), self._shelf.size
        done = Done(entry.name, start, offset, size, moment, end, crc, self._shelf.number, tar.FILE)
        self._count(done)
        return done

    def _pieces(self, reading: Reading, size: int) -> Iterator[bytes | memoryview]:
        starts = iter(range(0, size, _PIECE))
        running: deque[Future[bytes | memoryview]] = deque()

        def ask(count: int) -> None:
            for start in islice(starts, count):
                running.append(self._readers.submit(read_piece, reading, start, min(_PIECE, size - start)))

        ask(_PIECES_AHEAD)
        try:
            while running:
                yield running.popleft().result()
                ask(1)
        finally:
            wait(running)  # the file is closed next

    # ── going on ──

    def _go_on(self) -> None:
        """As far as the journal, the archive and the sources agree, nothing is read again."""
        good = 0
        for end, group in self._journal.groups():
            entries: list[Entry] = []
            if not (self._agree(group, entries) and self._are_there(group)):
                self._entries = itertools.chain(entries, self._entries)
                break
            self._replay(group)
            good = end
        self._journal.cut(good)
        self._shelf.cut()

    def _agree(self, group: list[Done], entries: list[Entry]) -> bool:
        """Whether the sources still hold what was packed then; takes their entries."""
        files = []
        for done in group:
            entry = next(self._entries, None)
            if entry is None or (done.kind == MISSED and entry.name != done.name):  # missed, and gone by now
                self._entries = itertools.chain([entry] if entry else [], self._entries)
                if done.kind != MISSED:
                    return False
                continue
            entries.append(entry)
            if done.kind not in (MISSED, entry.kind) or entry.name != done.name:
                return False
            if done.kind != tar.LINK and done.kind != tar.FOLDER:
                files.append((entry, done))
        return all(self._readers.map(self._is_unchanged, files))

    def _is_unchanged(self, pair: tuple[Entry, Done]) -> bool:
        entry, done = pair
        origin = self._origins[entry.origin]
        try:
            if done.kind == MISSED:
                origin.fetch(entry.name)
                return False
            return origin.stamp(entry.name) == (done.size, done.moment)
        except (OSError, Changed):
            return done.kind == MISSED

    def _are_there(self, group: list[Done]) -> bool:
        """Whether the archive holds them, whole: after a power cut it may not."""
        for done in group:
            if done.kind == MISSED:
                continue
            head = self._shelf.read(done.archive, done.start, done.offset - done.start)
            content = self._shelf.read(done.archive, done.offset, done.size)
            if not tar.is_header(head[-tar.BLOCK :]) or zlib.crc32(content) != done.crc:
                return False
        return True

    def _replay(self, group: list[Done]) -> None:
        for done in group:
            if done.kind == MISSED:
                self._miss(Entry(done.name), "it could not be read")
                continue
            if self._shelf.is_full_before(done.name, self._shelf.size):
                self._shelf.begin_next()
            assert (self._shelf.number, self._shelf.size) == (done.archive, done.start)
            self._shelf.digests.update(self._shelf.read(done.archive, done.start, done.end - done.start))
            self._shelf.size = done.end
            self._count(done)
            self._told(0, done.end - done.start)
        self._told(len(group), 0)
        self.report.went_on_at += len(group)


class _Pool(ThreadPoolExecutor):
    """Left by an exception, it does not begin what is still waiting."""

    def __exit__(self, kind: object, *rest: object) -> None:
        self.shutdown(wait=True, cancel_futures=kind is not None)
