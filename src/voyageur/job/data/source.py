"""Where bytes of an archive come from. A pack reads through `view` and `read` and knows nothing else about them."""

import mmap
import os
from typing import Any, Callable, Dict

from voyageur.job.data.errors import BrokenPack, DataError, NoSuchData


class Source:
    """One archive. Others (a copy that is still arriving, say) have the same face; see `KINDS`."""

    path: str
    size: int
    mtime_ns: int

    def view(self, offset: int, size: int) -> memoryview:
        """Without a copy where that can be had; read-only."""
        raise NotImplementedError

    def read(self, offset: int, size: int) -> bytes:
        return bytes(self.view(offset, size))


class FileSource(Source):
    """A file that is mapped. A map is shared by threads, and by what is forked off."""

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            with open(path, "rb") as file:
                status = os.fstat(file.fileno())
                self.size, self.mtime_ns = status.st_size, status.st_mtime_ns
                self._map: Any = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if self.size else b""
        except FileNotFoundError:
            raise NoSuchData("there is no %s" % path) from None
        except OSError as problem:
            raise DataError("%s cannot be read: %s" % (path, problem.strerror)) from None
        self._view = memoryview(self._map)

    def view(self, offset: int, size: int) -> memoryview:
        found = self._view[offset : offset + size]
        if len(found) != size:
            raise self._outside(offset, size)
        return found

    def read(self, offset: int, size: int) -> bytes:
        found: bytes = self._map[offset : offset + size]
        if len(found) != size:
            raise self._outside(offset, size)
        return found

    def _outside(self, offset: int, size: int) -> BrokenPack:
        fact = "a member is said to end at byte %d of %d" % (offset + size, self.size)
        return BrokenPack("the index of %s is not right" % self.path, [fact], "`voy data verify` tells more")


Facts = Dict[str, Any]
Opener = Callable[[str, Facts], Source]

# By the word that the entry in VOY_DATA has under `source`; without one it is a file.
KINDS: Dict[str, Opener] = {"file": lambda path, facts: FileSource(path)}


def open_source(path: str, facts: Facts) -> Source:
    kind = facts.get("source", "file")
    if kind not in KINDS:
        raise DataError("a source of kind %r is not known" % (kind,), [path])
    return KINDS[kind](path, facts)
