"""The archives of a pack while they grow: bytes go to their place, and into the digests of their chunks."""

from __future__ import annotations

import hashlib
import os

from voyageur.job.data import tar
from voyageur.job.data.index import CHUNK, Archive, digest_of, sample_of

Content = bytes | memoryview


class Digests:
    """The sha256 of every chunk, from bytes as they come."""

    def __init__(self) -> None:
        self.done: list[bytes] = []
        self._current = hashlib.sha256()
        self._filled = 0

    def update(self, piece: Content) -> None:
        room = CHUNK - self._filled
        if len(piece) < room:
            self._current.update(piece)
            self._filled += len(piece)
            return
        whole = memoryview(piece)
        self._current.update(whole[:room])
        self.done.append(self._current.digest())
        self._current, self._filled = hashlib.sha256(), 0
        if len(whole) > room:
            self.update(whole[room:])

    def copy(self) -> Digests:
        other = Digests()
        other.done, other._current, other._filled = list(self.done), self._current.copy(), self._filled
        return other

    def finish(self) -> list[bytes]:
        return [*self.done, self._current.digest()] if self._filled else self.done


def write_at(descriptor: int, content: Content, offset: int) -> None:
    view = memoryview(content)
    while len(view):  # a full disk takes a part of it, and says so the next time
        written = os.pwrite(descriptor, view, offset)
        view, offset = view[written:], offset + written


class Shelf:
    """One archive after the other, named as WebDataset names shards. Made in `folder`; found again there."""

    def __init__(self, folder: str, name: str, shard: int) -> None:
        self._folder, self._name, self._shard = folder, name, shard
        self.archives: list[Archive] = []
        self.chunks: list[bytes] = []
        self._sample = b"/"
        self._begin()

    @property
    def number(self) -> int:
        return len(self.archives)

    def path(self, number: int) -> str:
        return os.path.join(self._folder, self.file_name(number))

    def file_name(self, number: int) -> str:
        return f"{self._name.removesuffix('.tar')}-{number:06}.tar" if self._shard else self._name

    def _begin(self) -> None:
        self.descriptor = os.open(self.path(self.number), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        self.size = 0
        self.digests = Digests()

    def is_full_before(self, name: bytes, size: int) -> bool:
        """A shard ends with the sample that fills it; samples are never torn apart."""
        if not self._shard:
            return False
        sample, before = sample_of(name), self._sample
        self._sample = sample
        return size >= self._shard and sample != before

    def begin_next(self) -> None:
        self._end()
        self._begin()

    def read(self, number: int, offset: int, size: int) -> bytes:
        """What an earlier packing wrote; shorter where there is nothing."""
        if number == self.number:
            return os.pread(self.descriptor, size, offset)
        try:
            with open(self.path(number), "rb") as file:
                return os.pread(file.fileno(), size, offset)
        except FileNotFoundError:
            return b""

    def cut(self) -> None:
        """Nothing may stand behind what counts."""
        os.ftruncate(self.descriptor, self.size)
        number = self.number + 1
        while self._shard and os.path.exists(self.path(number)):
            os.unlink(self.path(number))
            number += 1

    def _end(self) -> None:
        end = tar.end_of_archive(self.size)
        write_at(self.descriptor, end, self.size)
        self.digests.update(end)
        self.size += len(end)
        os.ftruncate(self.descriptor, self.size)
        os.fsync(self.descriptor)
        status = os.fstat(self.descriptor)
        os.close(self.descriptor)
        chunks = self.digests.finish()
        self.chunks += chunks
        self.archives.append(Archive(self.file_name(self.number), self.size, status.st_mtime_ns, digest_of(chunks)))

    def finish(self) -> list[Archive]:
        self._end()
        return self.archives

    def close(self) -> None:
        os.close(self.descriptor)
