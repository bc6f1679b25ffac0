"""How far a packing has come, so that it can go on after ^C, a lost connection or SIGKILL."""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterable, Iterator
from typing import BinaryIO, NamedTuple

_GROUP = struct.Struct("<II")  # length and crc of what follows
_MEMBER = struct.Struct("<QQQqQIIHc")


MISSED = b"!"  # the kind of what could not be read


class Done(NamedTuple):
    """One member that is in the archive, or one that could not be read."""

    name: bytes
    start: int  # of its header
    offset: int
    size: int
    moment: int  # of the file it came from
    end: int
    crc: int
    archive: int
    kind: bytes


class Journal:
    """Groups of members, each whole or not there: the last one may have been cut."""

    def __init__(self, path: str, asked: bytes) -> None:
        self.path = path
        self._asked = asked
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def is_ours(self) -> bool:
        """Whether an earlier packing was asked for the same."""
        start = _GROUP.pack(len(self._asked), zlib.crc32(self._asked)) + self._asked
        return os.pread(self._descriptor, len(start), 0) == start

    def groups(self) -> Iterator[tuple[int, list[Done]]]:
        """What an earlier packing noted, if the same was asked of it; with each group, where it ends."""
        if not self.is_ours():
            return
        with open(self.path, "rb") as file:
            file.seek(_GROUP.size + len(self._asked))
            while body := _group(file):
                yield file.tell(), list(_members(body))

    def cut(self, end: int) -> None:
        """Forgets what came after; from 0 it begins anew."""
        os.ftruncate(self._descriptor, end)
        os.lseek(self._descriptor, end, os.SEEK_SET)
        if not end:
            write_all(self._descriptor, _GROUP.pack(len(self._asked), zlib.crc32(self._asked)) + self._asked)

    def append(self, members: Iterable[Done]) -> None:
        body = b"".join(_packed(member) for member in members)
        write_all(self._descriptor, _GROUP.pack(len(body), zlib.crc32(body)) + body)

    def close(self) -> None:
        os.close(self._descriptor)


def write_all(descriptor: int, content: bytes) -> None:
    while content:
        content = content[os.write(descriptor, content) :]


def _group(file: BinaryIO) -> bytes:
    start = file.read(_GROUP.size)
    if len(start) < _GROUP.size:
        return b""
    length, crc = _GROUP.unpack(start)
    body = file.read(length)
    return body if len(body) == length and zlib.crc32(body) == crc else b""


def _packed(member: Done) -> bytes:
    name, start, offset, size, moment, end, crc, archive, kind = member
    return _MEMBER.pack(start, offset, size, moment, end, crc, archive, len(name), kind) + name


def _members(body: bytes) -> Iterator[Done]:
    at = 0
    while at < len(body):
        start, offset, size, moment, end, crc, archive, length, kind = _MEMBER.unpack_from(body, at)
        at += _MEMBER.size
        yield Done(body[at : at + length], start, offset, size, moment, end, crc, archive, kind)
        at += length
