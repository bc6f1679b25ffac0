"""The index beside a pack: where each member lies, found by number or name without loading any other.

One file, little-endian, used in place through mmap:

    magic, version, crc of what follows, then (offset, length) of each section
    about     JSON: the archives with size, time and digest; what was left out
    members   32 bytes each: offset, size, start of the name, crc32, number of the archive; one more ends the names
    names     one after the other, as bytes
    by_name   8 bytes each, sorted: crc32 of the name, number of the member
    samples   4 bytes each: the first member of each sample
    chunks    32 bytes each: sha256 of every 8 MiB of every archive
"""

import bisect
import functools
import hashlib
import json
import mmap
import os
import struct
import sys
import zlib
from array import array
from typing import Any, Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union

from voyageur.job.data.errors import BrokenPack, NotAPack

SUFFIX = ".idx"
CHUNK = 8 << 20
DIGEST = 32
SECTIONS = ("about", "members", "names", "by_name", "samples", "chunks")

_MAGIC = b"VOYINDEX"
_VERSION = 1
_HEAD = struct.Struct("<8sII%dQ" % (2 * len(SECTIONS)))
_MEMBER = struct.Struct("<QQQII")
_LAST = 0xFFFFFFFF

Json = Dict[str, Any]
Buffer = Union[bytes, memoryview]


class Archive(NamedTuple):
    name: str  # of the file, in the index's own folder
    size: int
    mtime_ns: int
    digest: str  # sha256 over the sha256 of its chunks, as hexadecimal; empty when it was indexed without checksums


class Place(NamedTuple):
    """Where a member's contents are."""

    offset: int
    size: int
    crc: int
    archive: int


def sample_of(name: bytes) -> bytes:
    """What WebDataset groups by: the path up to the first dot of the file's name."""
    start = name.rfind(b"/") + 1
    dot = name.find(b".", start)
    return name[:dot] if dot > start else name


def extension_of(name: bytes) -> bytes:
    return name[len(sample_of(name)) + 1 :]


class Index:
    """Reads one. Nothing is loaded; every answer is looked up in the mapped file."""

    def __init__(self, buffer: Any, path: str) -> None:
        self.path = path
        view = memoryview(buffer)
        places = _sections(view, path)
        part = {name: view[start : start + length] for name, (start, length) in places.items()}
        self.about: Json = json.loads(bytes(part["about"]).decode("utf-8"))
        self.archives = [Archive(**archive) for archive in self.about["archives"]]
        self._members, self._names, self._chunks = part["members"], part["names"], part["chunks"]
        self._after_about = view[places["members"][0] :]
        self._by_name = part["by_name"].cast("Q")
        self.samples = part["samples"].cast("I")
        self._count = len(self._members) // _MEMBER.size - 1

    @classmethod
    def load(cls, path: str) -> "Index":
        with open(path, "rb") as file:
            if not os.fstat(file.fileno()).st_size:
                raise NotAPack("the index %s is empty" % path, hint=_again(path))
            return cls(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), path)

    def __len__(self) -> int:
        return self._count

    def place(self, number: int) -> Place:
        offset, size, _, crc, archive = self.record(number)
        return Place(offset, size, crc, archive)

    def record(self, number: int) -> Tuple[Any, ...]:
        """Offset, size, start of the name, crc, archive: as they are stored, for those who read all day."""
        return _MEMBER.unpack_from(self._members, number * _MEMBER.size)

    def places(self) -> Iterator[Place]:
        for offset, size, _, crc, archive in _MEMBER.iter_unpack(self._members[: self._count * _MEMBER.size]):
            yield Place(offset, size, crc, archive)

    def name(self, number: int) -> bytes:
        at = number * _MEMBER.size
        start, end = _MEMBER.unpack_from(self._members, at)[2], _MEMBER.unpack_from(self._members, at + _MEMBER.size)[2]
        return bytes(self._names[start:end])

    def names(self) -> Iterator[bytes]:
        start = 0
        for _, _, end, _, _ in _MEMBER.iter_unpack(self._members[_MEMBER.size :]):
            yield bytes(self._names[start:end])
            start = end

    def find(self, name: bytes) -> Optional[int]:
        """The number of a name; of the last one where several members have it, as tar has it."""
        key = zlib.crc32(name) << 32
        at = bisect.bisect_right(self._by_name, key | _LAST) - 1
        while at >= 0 and self._by_name[at] >= key:
            number = self._by_name[at] & _LAST
            if number < self._count and self.name(number) == name:
                return number
            at -= 1
        return None

    def sample(self, number: int) -> Tuple[int, int]:
        """The members of a sample: from the first to before the last."""
        end = self.samples[number + 1] if number + 1 < len(self.samples) else self._count
        return self.samples[number], end

    def is_whole(self) -> bool:
        """Whether all of the index is as it was written: it is read through, so nobody asks when a pack is opened."""
        return bool(zlib.crc32(self._after_about) == self.about.get("crc"))

    def members_of(self, archive: int) -> Tuple[int, int]:
        """From the first member of an archive to before its last: archives follow one another."""
        first = bisect.bisect_left(_Archives(self), archive)
        return first, bisect.bisect_left(_Archives(self), archive + 1)

    def check(self, content: Buffer, crc: int, number: int) -> None:
        if zlib.crc32(content) != crc and self.has_checksums:
            name = self.name(number).decode("utf-8", "replace")
            raise BrokenPack("%s is not what was packed" % name, ["its checksum is not that of " + self.path])

    @property
    def has_checksums(self) -> bool:
        return all(archive.digest for archive in self.archives)

    def chunks(self, archive: int) -> List[bytes]:
        """The digests of an archive's chunks; none when it was indexed without checksums."""
        start = sum(-(-other.size // CHUNK) for other in self.archives[:archive] if other.digest) * DIGEST
        count = -(-self.archives[archive].size // CHUNK) if self.archives[archive].digest else 0
        return [bytes(self._chunks[at : at + DIGEST]) for at in range(start, start + count * DIGEST, DIGEST)]


class _Archives(Sequence[int]):
    """For each member the number of its archive, to search in."""

    def __init__(self, index: Index) -> None:
        self._index = index

    def __len__(self) -> int:
        return len(self._index)

    def __getitem__(self, number: Any) -> Any:
        return self._index.place(number).archive


def _sections(view: memoryview, path: str) -> Dict[str, Tuple[int, int]]:
    if sys.byteorder != "little":
        raise NotAPack("indexes are read on little-endian machines only", [path])
    if len(view) < _HEAD.size or bytes(view[:8]) != _MAGIC:
        raise NotAPack("%s is no index of Voyageur" % path, hint=_again(path))
    _, version, crc, *numbers = _HEAD.unpack_from(view)
    if version != _VERSION:
        raise NotAPack("%s is an index of version %d; this Voyageur reads %d" % (path, version, _VERSION))
    places = dict(zip(SECTIONS, zip(numbers[::2], numbers[1::2])))
    start, length = places["about"]
    if any(first + size > len(view) for first, size in places.values()):
        raise BrokenPack("the index %s was cut off" % path, ["it has %d bytes" % len(view)], _again(path))
    if zlib.crc32(view[start : start + length], zlib.crc32(view[16 : _HEAD.size])) != crc:
        raise BrokenPack("the index %s is broken" % path, ["its checksum is not right"], _again(path))
    return places


def _again(path: str) -> str:
    archive = path[: -len(SUFFIX)] if path.endswith(SUFFIX) else "ARCHIVE.tar"
    return "`voy data index --force %s` makes it anew" % archive


# ── making one ───────────────────────────────────────────────────────────────────────────────────────────────────────


class Builder:
    """Takes members in the order of the archive; some 60 bytes each are kept beside their names."""

    def __init__(self) -> None:
        self._members = bytearray()
        self._names = bytearray()
        self._by_name = array("Q")
        self._samples = array("I")
        self._sample = b"/"  # no name can be this

    def __len__(self) -> int:
        return len(self._by_name)

    def add(self, name: bytes, offset: int, size: int, crc: int, archive: int = 0) -> None:
        number = len(self._by_name)
        sample = sample_of(name)
        if sample != self._sample:
            self._samples.append(number)
            self._sample = sample
        self._members += _MEMBER.pack(offset, size, len(self._names), crc, archive)
        self._names += name
        self._by_name.append(zlib.crc32(name) << 32 | number)

    def places(self) -> Dict[bytes, Place]:
        """Of all names so far."""
        found, members = {}, list(_MEMBER.iter_unpack(bytes(self._members)))
        ends = [start for _, _, start, _, _ in members[1:]] + [len(self._names)]
        for (offset, size, start, crc, archive), end in zip(members, ends):
            found[bytes(self._names[start:end])] = Place(offset, size, crc, archive)
        return found

    def parts(self, archives: Iterable[Archive], chunks: Iterable[bytes] = (), **about: Any) -> List[bytes]:
        """The file's bytes, in pieces."""
        pieces = [
            b"",
            bytes(self._members + _MEMBER.pack(0, 0, len(self._names), 0, 0)),
            bytes(self._names) + bytes(-len(self._names) % 8),
            array("Q", sorted(self._by_name)).tobytes(),
            self._samples.tobytes() + bytes(-4 * len(self._samples) % 8),
            b"".join(chunks),
        ]
        crc = functools.reduce(lambda crc, piece: zlib.crc32(piece, crc), pieces, 0)
        facts = {"archives": [archive._asdict() for archive in archives], "members": len(self), "crc": crc, **about}
        text = json.dumps(facts, sort_keys=True).encode("utf-8")
        pieces[0] = text + bytes(-len(text) % 8)
        lengths = [len(piece) for piece in pieces]
        lengths[0], lengths[2], lengths[4] = len(text), len(self._names), 4 * len(self._samples)
        return [_head(pieces, lengths), *pieces]


def _head(pieces: List[bytes], lengths: List[int]) -> bytes:
    numbers, at = [], _HEAD.size
    for piece, length in zip(pieces, lengths):
        numbers += [at, length]
        at += len(piece)
    table = struct.pack("<%dQ" % len(numbers), *numbers)
    crc = zlib.crc32(pieces[0][: lengths[0]], zlib.crc32(table))
    return _HEAD.pack(_MAGIC, _VERSION, crc, *numbers)


def digest_of(chunks: Iterable[bytes]) -> str:
    """An archive's digest, from those of its chunks."""
    return hashlib.sha256(b"".join(chunks)).hexdigest()
