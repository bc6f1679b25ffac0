"""Packs: tar archives with an index beside them, in one file or in shards."""

import os
from typing import Any, List, Optional, Sequence, Tuple

from voyageur.job.data import tar
from voyageur.job.data.errors import DataError, NoSuchData, StaleIndex
from voyageur.job.data.index import SUFFIX, Index, Place
from voyageur.job.data.indexing import index_in_memory, plain
from voyageur.job.data.pack import Pack
from voyageur.job.data.source import Facts, Source, open_source

_LOOKED_AT = 16  # members whose headers are compared when an archive has another time than its index knows


Which = Any  # a number or a name


class TarPack(Pack):
    def __init__(self, path: str, facts: Optional[Facts] = None, check: bool = False) -> None:
        self.path = os.path.abspath(path)
        self._facts = dict(facts or {})
        self._check = check
        self.table, self._sources = _open(self.path, self._facts)
        self._count = len(self.table)
        self.left_out = self.table.about.get("left_out", {})
        self._place, self._record = self.table.place, self.table.record
        self._reads = [source.read for source in self._sources]
        self._views = [source.view for source in self._sources]

    def __reduce__(self) -> Tuple[Any, ...]:
        return TarPack, (self.path, self._facts, self._check)

    @property
    def archives(self) -> List[str]:
        return [source.path for source in self._sources]

    def __len__(self) -> int:
        return self._count

    def _name(self, number: int) -> bytes:
        return self.table.name(number)

    def _find(self, name: bytes) -> Optional[int]:
        return self.table.find(name)

    def _size(self, number: int) -> int:
        return self._place(number).size

    def _samples(self) -> Sequence[int]:
        return self.table.samples

    def header(self, number: int) -> memoryview:
        """The block before a member's contents."""
        place = self._place(number)
        return self._views[place.archive](max(0, place.offset - tar.BLOCK), tar.BLOCK)

    def _read(self, number: int) -> bytes:
        offset, size, _, crc, archive = self._record(number)
        content: bytes = self._reads[archive](offset, size)
        if self._check:
            self.table.check(content, crc, number)
        return content

    def _view(self, number: int) -> memoryview:
        offset, size, _, crc, archive = self._record(number)
        content: memoryview = self._views[archive](offset, size)
        if self._check:
            self.table.check(content, crc, number)
        return content

    # A training loop asks for nothing else all day: by number, these go straight there.

    def read(self, which: Which) -> bytes:
        return self._read(which if which.__class__ is int and 0 <= which < self._count else self.number(which))

    def view(self, which: Which) -> memoryview:
        return self._view(which if which.__class__ is int and 0 <= which < self._count else self.number(which))


def _open(path: str, facts: Facts) -> Tuple[Index, List[Source]]:
    """The index and a source for each archive it names; a tar without an index is indexed in memory."""
    beside = facts.get("index") or (path if path.endswith(SUFFIX) else path + SUFFIX)
    if not os.path.exists(beside):
        source = open_source(path, facts)
        return index_in_memory(source), [source]
    index = Index.load(beside)
    sources: List[Source] = []
    for number, archive in enumerate(index.archives):
        if os.path.basename(archive.name) != archive.name or archive.name in ("", ".", ".."):
            raise DataError("the index %s names an archive in another folder" % beside, [repr(archive.name)])
        try:
            sources.append(open_source(_archive_path(path, archive.name, len(index.archives)), facts))
        except NoSuchData as problem:
            raise NoSuchData("%s is not whole: %s" % (path, problem.what), ["it is named in " + beside]) from None
        _check_fresh(index, number, sources[-1])
    return index, sources


def _archive_path(path: str, name: str, count: int) -> str:
    """Beside the index. A single archive may have been renamed, and its index with it."""
    if count == 1:
        return path[: -len(SUFFIX)] if path.endswith(SUFFIX) else path
    return os.path.join(os.path.dirname(path), name)


def _check_fresh(index: Index, number: int, source: Source) -> None:
    """A copy has another time and is as good; so the headers of some members decide, where the size is right."""
    told = index.archives[number]
    if source.size != told.size:
        raise _stale(index, source, "it has %d bytes, and its index was made for %d" % (source.size, told.size))
    if source.mtime_ns == told.mtime_ns:
        return
    first, last = index.members_of(number)
    for member in range(first, last, max(1, (last - first) // _LOOKED_AT)):
        if not _has_header(index, source, member):
            name = index.name(member).decode("utf-8", "replace")
            raise _stale(index, source, "%s is not where its index says" % name)


def _has_header(index: Index, source: Source, member: int) -> bool:
    place = index.place(member)
    if place.offset < tar.BLOCK:
        return False
    block = source.view(place.offset - tar.BLOCK, tar.BLOCK)
    if not tar.is_header(block):
        return False
    name = index.name(member)
    # A long name is in a header of its own; a hard link has its contents under another name.
    return len(name) > 100 or _same_contents(index, tar.name_in(block), place)


def _same_contents(index: Index, name: bytes, place: Place) -> bool:
    found = index.find(plain(name))
    return found is not None and index.place(found)[:2] == place[:2]


def _stale(index: Index, source: Source, fact: str) -> StaleIndex:
    hint = "`voy data index --force %s` makes it anew" % source.path
    return StaleIndex("the index of %s is older than the archive" % source.path, [fact, "index: " + index.path], hint)
