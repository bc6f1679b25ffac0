"""From an archive as it is to an index of it, whoever made the archive."""

import hashlib
import os
import zlib
from collections import Counter, deque
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Callable, Dict, Iterable, List, Optional, Sequence
from typing import Counter as Count

from voyageur.job.data import tar
from voyageur.job.data.errors import NotAPack
from voyageur.job.data.index import CHUNK, Archive, Builder, Index, Place, digest_of
from voyageur.job.data.source import FileSource, Source

THREADS = 4

Told = Callable[[int], None]

WORDS = {tar.SPARSE: "sparse files", tar.OTHER: "devices and other special files"}


def plain(name: bytes) -> bytes:
    """`tar cf x.tar .` writes `./a`; people ask for `a`."""
    while name.startswith(b"./"):
        name = name[2:].lstrip(b"/")
    return name


class Indexing:
    """Members of one archive after the other, into one builder."""

    def __init__(self) -> None:
        self.builder = Builder()
        self.left_out: Count[str] = Counter()
        self.others = 0  # folders and links: no samples, but they are unpacked
        self._archives = 0
        self._places: Optional[Dict[bytes, Place]] = None  # only once there are hard links

    def add(self, members: Iterable[tar.Member], crc_of: Callable[[tar.Member], int]) -> None:
        for member in members:
            if member.kind == tar.FILE:
                self._add(member.name, Place(member.offset, member.size, crc_of(member), self._archives))
            elif member.kind == tar.HARD_LINK:
                self._add_hard_link(member)
            elif member.kind == tar.FOLDER or member.kind == tar.LINK:
                self.others += 1
            else:
                self.left_out[WORDS[member.kind]] += 1
        self._archives += 1

    def _add(self, name: bytes, place: Place) -> None:
        self.builder.add(plain(name), *place)
        if self._places is not None:
            self._places[plain(name)] = place

    def _add_hard_link(self, link: tar.Member) -> None:
        """It has the contents of the file it was linked to, which comes before it."""
        if self._places is None:
            self._places = self.builder.places()
        place = self._places.get(plain(link.target))
        if place is None or place.archive != self._archives:
            self.left_out["hard links to nothing"] += 1
        else:
            self._add(link.name, place)


def index_in_memory(source: Source) -> Index:
    """Without checksums: only the headers are read."""
    indexing = Indexing()
    indexing.add(iter(tar.Scan(source.view(0, source.size), source.path)), lambda member: 0)
    archive = Archive(os.path.basename(source.path), source.size, source.mtime_ns, "")
    if not len(indexing.builder):
        raise holds_nothing(source.path, indexing.left_out)
    parts = indexing.builder.parts([archive], others=indexing.others, left_out=dict(indexing.left_out))
    return Index(b"".join(parts), source.path)


def holds_nothing(path: str, left_out: Dict[str, int]) -> NotAPack:
    return NotAPack("%s holds no files" % path, ["it has %d %s" % (count, what) for what, count in left_out.items()])


# ── with checksums ───────────────────────────────────────────────────────────────────────────────────────────────────


def index_archives(paths: Sequence[str], told: Told = lambda size: None) -> List[bytes]:
    """Reads them through once; `told` hears how many bytes more were read. The pieces of an index file."""
    indexing = Indexing()
    archives: List[Archive] = []
    chunks: List[bytes] = []
    for path in paths:
        source = FileSource(path)
        with ThreadPoolExecutor(THREADS) as pool:
            digests = _Ahead(source, pool, told)
            members = tar.Scan(source.view(0, source.size), path)
            indexing.add(members, lambda member: digests.crc(member))  # noqa: B023 - used before the next archive
            found = digests.rest()
        archives.append(Archive(os.path.basename(path), source.size, source.mtime_ns, digest_of(found)))
        chunks += found
    if not len(indexing.builder):
        raise holds_nothing(", ".join(paths), indexing.left_out)
    return indexing.builder.parts(archives, chunks, others=indexing.others, left_out=dict(indexing.left_out))


class _Ahead:
    """Digests of chunks, made by threads that run some chunks ahead of the member that is looked at: they bring in
    what it needs, several pieces at a time, as shared storage likes it."""

    def __init__(self, source: Source, pool: ThreadPoolExecutor, told: Told) -> None:
        self._source, self._told = source, told
        self._found: List[bytes] = []
        self._numbers = iter(range(-(-source.size // CHUNK)))
        self._pool = pool
        self._running = deque(
            pool.submit(chunk_digest, source, number) for number in islice(self._numbers, 2 * THREADS)
        )

    def crc(self, member: tar.Member) -> int:
        while len(self._found) * CHUNK < member.offset + member.size:
            self._step()
        return zlib.crc32(self._source.view(member.offset, member.size))

    def rest(self) -> List[bytes]:
        while self._running:
            self._step()
        return self._found

    def _step(self) -> None:
        self._found.append(self._running.popleft().result())
        self._running.extend(
            self._pool.submit(chunk_digest, self._source, number) for number in islice(self._numbers, 1)
        )
        self._told(min(CHUNK, self._source.size - (len(self._found) - 1) * CHUNK))


def chunk_digest(source: Source, number: int) -> bytes:
    start = number * CHUNK
    return hashlib.sha256(source.view(start, min(CHUNK, source.size - start))).digest()
