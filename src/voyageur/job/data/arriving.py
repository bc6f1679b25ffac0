"""A pack that is still on its way to this node: what has arrived is read here, the rest from shared storage.

Beside the files stands one byte for each 8 MiB: 1 when they are here and verified. It is mapped, so that loader workers
see what arrives, forked or spawned.
"""

import json
import mmap
import os
import time
from typing import Any, Optional

from voyageur.job.data.errors import BrokenPack, DataError, NoSuchData
from voyageur.job.data.index import CHUNK
from voyageur.job.data.source import Facts, FileSource, Source

_LOOK_EVERY = 0.2  # seconds, until staging has begun here
_COUNT_EVERY = 512  # reads, until all is here
_HERE, _BROKEN = b"\x01", b"\x02"


def open_arriving(path: str, facts: Facts) -> Source:
    return FileSource(path) if os.path.exists(path) else ArrivingSource(path, facts)


class ArrivingSource(Source):
    """`facts`: `hold` is the folder on the node, `shared` the one on shared storage that it comes from."""

    def __init__(self, path: str, facts: Facts) -> None:
        self.path = path
        self._hold = str(facts["hold"])
        self._shared_path = os.path.join(facts["shared"], os.path.basename(path))
        self._shared = _open(self._shared_path)
        status = os.fstat(self._shared)
        self.size, self.mtime_ns = status.st_size, status.st_mtime_ns
        self._state: Optional[mmap.mmap] = None
        self._view = memoryview(b"")
        self._first = 0
        self._reads = 0
        self._look_at = 0.0
        self._is_here = False
        self._attach()

    def __del__(self) -> None:
        if getattr(self, "_shared", None) is not None:
            os.close(self._shared)

    def view(self, offset: int, size: int) -> memoryview:
        if offset + size > self.size or offset < 0:
            fact = "a member is said to end at byte %d of %d" % (offset + size, self.size)
            raise BrokenPack("the index of %s is not right" % self._shared_path, [fact])
        if self._is_here or self._has(offset, size):
            return self._view[offset : offset + size]
        return memoryview(self._read_shared(offset, size))

    def _has(self, offset: int, size: int) -> bool:
        if self._state is None and not self._attach():
            return False
        assert self._state is not None
        start = self._first + offset // CHUNK
        found = self._state[start : self._first + max(offset, offset + size - 1) // CHUNK + 1]
        self._reads += 1
        if self._reads % _COUNT_EVERY == 0:
            self._is_here = self._all_here()
        if _BROKEN in found:
            fact = "the part from byte %d on is not what its index says" % (offset // CHUNK * CHUNK)
            raise BrokenPack("%s is damaged" % self._shared_path, [fact], "`voy data verify` tells which members")
        return found.count(_HERE) == len(found)

    def _all_here(self) -> bool:
        assert self._state is not None
        count = -(-self.size // CHUNK)
        return self._state[self._first : self._first + count].count(_HERE) == count

    def _attach(self) -> bool:
        """Once staging has begun on this node; before that, and where there is no room, all is read from afar."""
        now = time.monotonic()
        if now < self._look_at:
            return False
        self._look_at = now + _LOOK_EVERY
        try:
            self._view = _mapped(self._local())
            self._first = _first_chunk(os.path.join(self._hold, "cargo.json"), os.path.basename(self.path))
            with open(os.path.join(self._hold, "arrived"), "rb") as file:
                self._state = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            return True
        except (OSError, ValueError, KeyError):
            return False

    def _local(self) -> str:
        arriving = os.path.join(self._hold, "partial", os.path.basename(self.path))
        return arriving if os.path.exists(arriving) else self.path

    def _read_shared(self, offset: int, size: int) -> bytes:
        try:
            found = os.pread(self._shared, size, offset)
            while len(found) < size:
                part = os.pread(self._shared, size - len(found), offset + len(found))
                if not part:
                    raise BrokenPack("%s was cut off while it was read" % self._shared_path)
                found += part
            return found
        except OSError as problem:
            raise DataError("%s cannot be read: %s" % (self._shared_path, problem.strerror)) from None


def _open(path: str) -> int:
    try:
        return os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        raise NoSuchData("there is no %s" % path) from None
    except OSError as problem:
        raise DataError("%s cannot be read: %s" % (path, problem.strerror)) from None


def _mapped(path: str) -> memoryview:
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        mapped: Any = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if size else b""
        return memoryview(mapped)


def _first_chunk(cargo: str, name: str) -> int:
    """Where this archive's chunks begin among those of the dataset."""
    with open(cargo, encoding="ascii") as file:
        return int(json.load(file)["first"][name])
