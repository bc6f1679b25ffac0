"""A dataset as what travels: its files, cut into chunks that are read, sent, verified and counted one by one.

A large file is cut every 8 MiB, as the index of a pack has it, so that its digests hold for the chunks. Small files
share a chunk. All nodes cut alike, because all work from one list.
"""

import hashlib
import json
import os
import stat
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from voyageur.job.data.index import CHUNK, SUFFIX, Index
from voyageur.runtime.staging.look import FOLDER, PACK, Look, NotThere, archive_names, walk
from voyageur.runtime.staging.sums import read_sums

FILE_, FOLDER_, LINK_ = "file", "folder", "link"


class Changed(Exception):
    """A file of the dataset is not what it was when staging began, or not what its index says."""


class Item(NamedTuple):
    name: str  # relative to the folder that the dataset lies in
    kind: str
    size: int = 0
    mode: int = 0o644
    mtime_ns: int = 0
    target: str = ""


class Piece(NamedTuple):
    item: int
    offset: int
    size: int


class Cargo:
    """`base` is where it lies on shared storage; `digests` are those of a pack's index, or of a file's sums."""

    def __init__(self, base: str, items: List[Item], digests: Optional[Dict[int, List[str]]] = None) -> None:
        self.base = base
        self.items = items
        self.chunks = list(_cut(items))
        self.digests = digests or {}
        self.size = sum(item.size for item in items)

    def chunk_size(self, number: int) -> int:
        return sum(piece.size for piece in self.chunks[number])

    def first_chunks(self) -> Dict[str, int]:
        """In which chunk each file begins."""
        found: Dict[str, int] = {}
        for number, chunk in enumerate(self.chunks):
            for piece in chunk:
                found.setdefault(self.items[piece.item].name, number)
        return found

    def is_right(self, number: int, content: bytes) -> bool:
        """True as well where nobody knows what it should be."""
        for piece, part in spread(self, number, content):
            known = self.digests.get(piece.item)
            if known and hashlib.sha256(part).hexdigest() != known[piece.offset // CHUNK]:
                return False
        return True

    def as_json(self) -> Dict[str, Any]:
        return {"base": self.base, "items": [list(item) for item in self.items], "digests": self.digests}

    @classmethod
    def from_json(cls, found: Dict[str, Any]) -> "Cargo":
        digests = {int(number): digests for number, digests in found["digests"].items()}
        return cls(found["base"], [Item(*item) for item in found["items"]], digests)

    def fingerprint(self) -> str:
        return hashlib.sha256(json.dumps(self.as_json(), sort_keys=True).encode("ascii")).hexdigest()


def _cut(items: List[Item]) -> "List[List[Piece]]":
    chunks: List[List[Piece]] = []
    open_chunk: List[Piece] = []
    filled = 0
    for number, item in enumerate(items):
        if item.size >= CHUNK:
            chunks += [[Piece(number, start, min(CHUNK, item.size - start))] for start in range(0, item.size, CHUNK)]
        elif item.size:
            if filled + item.size > CHUNK:
                chunks.append(open_chunk)
                open_chunk, filled = [], 0
            open_chunk.append(Piece(number, 0, item.size))
            filled += item.size
    return chunks + ([open_chunk] if open_chunk else [])


def load_cargo(found: Look) -> Cargo:
    """The list of what has to travel, read from shared storage."""
    base, name = os.path.split(found.path)
    if found.kind == PACK:
        return _pack(found.path, base)
    if found.kind == FOLDER:
        return Cargo(base, list(_folder(found.path, name)))
    return _single(found.path, base, name)


def _single(path: str, base: str, name: str) -> Cargo:
    item, sums = _item(path, name), read_sums(path)
    if sums and sums.size != item.size:
        raise Changed("%s: it has %d bytes, and its sums were made for %d" % (path, item.size, sums.size))
    return Cargo(base, [item], {0: sums.parts} if sums else {})


def _item(path: str, name: str) -> Item:
    try:
        status = os.stat(path)
    except OSError as problem:
        raise NotThere("%s: %s" % (path, problem.strerror)) from None
    return Item(name, FILE_, status.st_size, _mode(status.st_mode), status.st_mtime_ns)


def _mode(mode: int) -> int:
    return 0o755 if mode & stat.S_IXUSR else 0o644


def _pack(path: str, base: str) -> Cargo:
    """Its archives and its index."""
    index = Index.load(path + SUFFIX)
    items, digests = [], {}
    for number, name in enumerate(archive_names(path, index)):
        archive = index.archives[number]
        item = _item(os.path.join(base, name), name)
        if item.size != archive.size:
            fact = "it has %d bytes, and its index was made for %d" % (item.size, archive.size)
            raise Changed("%s: %s" % (os.path.join(base, name), fact))
        items.append(item)
        digests[number] = [digest.hex() for digest in index.chunks(number)]
    items.append(_item(path + SUFFIX, os.path.basename(path) + SUFFIX))
    return Cargo(base, items, digests)


def _folder(path: str, name: str) -> "List[Item]":
    items = [Item(name, FOLDER_)]
    for entry, below in walk(path):
        full = os.path.join(name, below)
        if entry.is_symlink():
            items.append(Item(full, LINK_, target=os.readlink(entry.path)))
        elif entry.is_dir():
            items.append(Item(full, FOLDER_))
        elif entry.is_file():
            status = entry.stat()
            items.append(Item(full, FILE_, status.st_size, _mode(status.st_mode), status.st_mtime_ns))
    return items


def read_piece(cargo: Cargo, piece: Piece) -> bytes:
    """From shared storage. Raises Changed when the file is not the one that was listed."""
    item = cargo.items[piece.item]
    path = os.path.join(cargo.base, item.name)
    try:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            status = os.fstat(descriptor)
            if (status.st_size, status.st_mtime_ns) != (item.size, item.mtime_ns):
                raise Changed("%s was changed while it was staged" % path)
            return _read_all(descriptor, piece)
        finally:
            os.close(descriptor)
    except OSError as problem:
        raise Changed("%s cannot be read: %s" % (path, problem.strerror)) from None


def _read_all(descriptor: int, piece: Piece) -> bytes:
    parts: List[bytes] = []
    offset, left = piece.offset, piece.size
    while left:
        part = os.pread(descriptor, left, offset)
        if not part:
            raise OSError(0, "it ends at byte %d" % offset)
        parts.append(part)
        offset, left = offset + len(part), left - len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def spread(cargo: Cargo, number: int, content: bytes) -> List[Tuple[Piece, memoryview]]:
    """Which bytes of a chunk belong where."""
    found, at = [], 0
    for piece in cargo.chunks[number]:
        found.append((piece, memoryview(content)[at : at + piece.size]))
        at += piece.size
    return found
