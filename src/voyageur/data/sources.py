"""What a pack is made of: a folder, or an archive of another kind."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import shutil
import stat
import time
import zlib
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from voyageur.data.listing import Listing, list_folder
from voyageur.job import data
from voyageur.job.data import BrokenPack, NotAPack, Pack, tar
from voyageur.job.data.pack import as_bytes

LARGE = 1 << 20  # from here on, a file is read in pieces
_TIMES = 3


class Stamp(NamedTuple):
    """By which a file is known again."""

    size: int
    moment: int


Content = tuple[bytes | memoryview, int, int]  # the contents, the mode, and the stamp's moment


class Changed(Exception):
    """It was not the same from the first byte to the last."""


class Reading(Protocol):
    """A large file, open."""

    stamp: Stamp
    mode: int

    def piece(self, offset: int, size: int) -> bytes | memoryview: ...
    def finish(self) -> None:
        """Raises Changed when it was not the same all the time."""

    def close(self) -> None: ...


class Origin(Protocol):
    path: str

    def listing(self, *, follow: bool, without: frozenset[str]) -> Listing: ...
    def stamp(self, name: bytes) -> Stamp: ...
    def fetch(self, name: bytes) -> Content | None:
        """Nothing when it is large."""

    def open(self, name: bytes) -> Reading: ...


class Folder:
    def __init__(self, path: str) -> None:
        self.path = path
        self._root = os.fsencode(path) + b"/"

    def listing(self, *, follow: bool, without: frozenset[str]) -> Listing:
        root = os.fsencode(self.path)
        own = {os.path.relpath(os.fsencode(path), os.path.realpath(root)) for path in without}
        return list_folder(root, follow=follow, without=frozenset(own))

    def stamp(self, name: bytes) -> Stamp:
        return _stamp(os.stat(self._root + name))

    def fetch(self, name: bytes) -> Content | None:
        for _ in range(_TIMES - 1):
            try:
                return self._fetch(name)
            except Changed:
                time.sleep(0.01)  # whoever writes it may be done soon
        return self._fetch(name)

    def _fetch(self, name: bytes) -> Content | None:
        descriptor = _open(self._root + name)
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise Changed("it is no file any more")
            size = status.st_size
            if size >= LARGE:
                return None
            data = os.read(descriptor, size + 1)
            if len(data) < size:
                data += _rest(descriptor, size + 1 - len(data))
            _check_same(status, os.fstat(descriptor), len(data))
            return data, status.st_mode, status.st_mtime_ns
        finally:
            os.close(descriptor)

    def open(self, name: bytes) -> Reading:
        return _Large(self._root + name)


def _open(path: bytes) -> int:
    # a pipe that took the file's place must not hold us up
    return os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)


def _rest(descriptor: int, wanted: int) -> bytes:
    """Some file systems hand out less than was asked for."""
    pieces = []
    while wanted > 0 and (piece := os.read(descriptor, wanted)):
        pieces.append(piece)
        wanted -= len(piece)
    return b"".join(pieces)


def _stamp(status: os.stat_result) -> Stamp:
    return Stamp(status.st_size, status.st_mtime_ns)


def _check_same(before: os.stat_result, after: os.stat_result, read: int) -> None:
    if not read == before.st_size == after.st_size or before.st_mtime_ns != after.st_mtime_ns:
        raise Changed("it changed while it was read")


class _Large:
    def __init__(self, path: bytes) -> None:
        self._descriptor = _open(path)
        self._status = os.fstat(self._descriptor)
        self.stamp, self.mode = _stamp(self._status), self._status.st_mode

    def piece(self, offset: int, size: int) -> bytes:
        data = os.pread(self._descriptor, size, offset)
        while len(data) < size:
            more = os.pread(self._descriptor, size - len(data), offset + len(data))
            if not more:
                raise Changed("it became shorter while it was read")
            data += more
        return data

    def finish(self) -> None:
        _check_same(self._status, os.fstat(self._descriptor), self._status.st_size)

    def close(self) -> None:
        os.close(self._descriptor)


# ── archives ─────────────────────────────────────────────────────────────────────────────────────────────────────────

UNSAFE = "names that lead outside"


class Archive:
    """A tar or a zip, packed anew: sorted, sample by sample, with an index."""

    def __init__(self, pack: Pack, path: str) -> None:
        self.path = path
        self._pack = pack
        self._moment = os.stat(path).st_mtime_ns

    def listing(self, *, follow: bool, without: frozenset[str]) -> Listing:
        listing = Listing()
        folders: dict[bytes, dict[bytes, None]] = {}
        for number in range(len(self._pack)):
            name = as_bytes(self._pack.names[number])
            if is_safe(name):
                folder, _, last = name.rpartition(b"/")
                folders.setdefault(folder, {})[last] = None
            else:
                listing.leave_out(UNSAFE, name)
        listing.files = {folder: b"/".join(names) for folder, names in folders.items()}
        listing.count = sum(map(len, folders.values()))
        listing.left_out.update(self._pack.left_out)
        return listing

    def stamp(self, name: bytes) -> Stamp:
        return Stamp(self._pack.size(name), self._moment)

    def fetch(self, name: bytes) -> Content | None:
        stamp = self.stamp(name)
        return (self._pack.view(name), 0o644, stamp.moment) if stamp.size < LARGE else None

    def open(self, name: bytes) -> Reading:
        return _Member(self._pack.view(name), self.stamp(name))


class _Member:
    mode = 0o644

    def __init__(self, view: memoryview, stamp: Stamp) -> None:
        self._view = view
        self.stamp = stamp

    def piece(self, offset: int, size: int) -> memoryview:
        return self._view[offset : offset + size]

    def finish(self) -> None:
        """An archive's members do not change."""

    def close(self) -> None:
        self._view.release()


def is_safe(name: bytes) -> bool:
    """A relative path that goes only down."""
    parts = name.split(b"/")
    return bool(name) and not {b"", b".", b".."} & set(parts) and b"\0" not in name


_OPENERS: dict[str, Callable[[str], Any]] = {"gzip": gzip.GzipFile, "bzip2": bz2.BZ2File, "xz": lzma.LZMAFile}


def origin_of(path: str, room: str) -> Origin:
    """`room`: a folder where a compressed archive may be unpacked, to be read in another order than its own."""
    if os.path.isdir(path):
        return Folder(os.path.abspath(path))
    with open(path, "rb") as file:
        how = tar.compression(file.read(512))
    if how is None:
        return Archive(data.open(path), path)
    return Archive(data.open(_inflated(path, how, room)), path)


def _inflated(path: str, how: str, room: str) -> str:
    """Under its name once it is whole, so that a packing that goes on need not do it again."""
    if how not in _OPENERS:
        hint = f"unpack it yourself first: `{how} -d -k {path}`"
        raise NotAPack(f"{path} is compressed with {how}, which Python cannot read", hint=hint)
    status = os.stat(path)
    target = os.path.join(room, f"source-{status.st_size:x}-{status.st_mtime_ns:x}.tar")
    if not os.path.exists(target):
        try:
            with _OPENERS[how](path) as packed, open(f"{target}.new", "wb") as plain:
                shutil.copyfileobj(packed, plain, 1 << 20)
        except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as problem:
            raise BrokenPack(f"{path} is broken", [str(problem)], "fetch it again") from None
        os.rename(f"{target}.new", target)
    return target
