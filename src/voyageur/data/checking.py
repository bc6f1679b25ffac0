"""Whether a pack still is what was packed: all of it is read, several chunks at a time."""

from __future__ import annotations

import zlib
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from voyageur.errors import SpecError
from voyageur.job.data.index import CHUNK, Index
from voyageur.job.data.indexing import chunk_digest
from voyageur.job.data.packed import TarPack
from voyageur.job.data.source import FileSource

_HANDS = 8

Read = Callable[[int], None]  # how many bytes more were read


@dataclass
class Findings:
    members: int = 0
    size: int = 0
    bad: list[bytes] = field(default_factory=list)  # members
    between: list[str] = field(default_factory=list)  # archives that are broken where no contents are


def verify(pack: TarPack, read: Read) -> Findings:
    table = pack.table
    if not table.has_checksums:
        hint = f"`voy data index --force {pack.path}` reads it once and notes them"
        raise SpecError(f"there are no checksums for {pack.path}", hint=hint)
    if not table.is_whole():
        hint = f"`voy data index --force {pack.path}` makes it anew, from the archive as it is now"
        raise SpecError(f"the index {table.path} is broken", facts=["its checksum is not right"], hint=hint)
    findings = Findings(members=len(pack))
    for number, path in enumerate(pack.archives):
        source = FileSource(path)
        findings.size += source.size
        broken = list(_broken_chunks(source, table.chunks(number), read))
        if broken:
            bad = list(_bad_members(table, source, number, broken))
            findings.bad += bad
            findings.between += [] if bad else [path]
    return findings


def _broken_chunks(source: FileSource, told: list[bytes], read: Read) -> Iterator[int]:
    with ThreadPoolExecutor(_HANDS, "verify") as pool:
        numbers = iter(range(len(told)))
        running = deque((number, pool.submit(chunk_digest, source, number)) for number, _ in zip(numbers, range(16)))  # noqa: B905
        while running:
            number, future = running.popleft()
            if future.result() != told[number]:
                yield number
            read(min(CHUNK, source.size - number * CHUNK))
            for following in numbers:
                running.append((following, pool.submit(chunk_digest, source, following)))
                break


def _bad_members(table: Index, source: FileSource, archive: int, broken: list[int]) -> Iterator[bytes]:
    chunks = set(broken)
    for number in range(*table.members_of(archive)):
        offset, size, crc, _ = table.place(number)
        touched = range(offset // CHUNK, (offset + size) // CHUNK + 1)
        if not chunks.isdisjoint(touched) and zlib.crc32(source.view(offset, size)) != crc:
            yield table.name(number)
