"""LMDB: the key is the name, the value the contents."""

from __future__ import annotations

import os
from threading import Lock
from typing import Any

from voyageur.data.forms.form import Chosen, Form, PerProcess, Written, library, starts_with
from voyageur.job.data import BrokenPack
from voyageur.job.data.folder import Listed

_FILE = "data.mdb"
_MAGIC = b"\xde\xc0\xef\xbe"
_LONGEST = 511  # bytes of a key
_LARGEST = (1 << 32) - 1
_PAGE = 4096
_AT_ONCE = 64 << 20  # bytes of a transaction


class LightningPack(Listed):
    def __init__(self, path: str, _: str) -> None:
        self._reading = PerProcess(lambda: _opened(path).begin(buffers=True))
        self._lock = Lock()  # a transaction is for one thread at a time
        self._sizes = _sizes(path)
        super().__init__(path, list(self._sizes))

    def _size(self, number: int) -> int:
        return self._sizes[self._names[number]]

    def _view(self, number: int) -> memoryview:
        with self._lock:
            content: memoryview = self._reading().get(self._names[number])
        return content

    def _read(self, number: int) -> bytes:
        return bytes(self._view(number))


def _sizes(path: str) -> dict[bytes, int]:
    """Closed again: LMDB opens nothing in a process that was forked off while it was open."""
    lmdb = library("lmdb")
    try:
        with _opened(path) as made, made.begin(buffers=True) as reading:
            return {bytes(key): len(content) for key, content in reading.cursor()}
    except lmdb.Error as problem:
        raise BrokenPack(f"{path} is broken", [str(problem)]) from None


def _opened(path: str) -> Any:
    lmdb = library("lmdb")
    try:
        return lmdb.open(path, subdir=os.path.isdir(path), readonly=True, lock=False, create=False)
    except lmdb.Error as problem:
        raise BrokenPack(f"{path} is no whole LMDB", [str(problem)]) from None


def _write(chosen: Chosen, path: str, done: Written) -> None:
    lmdb = library("lmdb")
    pages = sum(chosen.pack.size(number) // _PAGE + 2 for number in chosen.numbers)
    try:
        made = lmdb.open(path, map_size=2 * pages * _PAGE + (64 << 20), sync=False, lock=False)
        try:
            _put(made, chosen, done)
            made.sync(True)
        finally:
            made.close()
    except lmdb.Error as problem:
        raise OSError(str(problem)) from None


def _put(made: Any, chosen: Chosen, done: Written) -> None:
    writing, size = made.begin(write=True), 0
    try:
        for name, content in chosen:
            writing.put(name, content)
            size += len(content)
            if size > _AT_ONCE:
                writing.commit()
                writing, size = made.begin(write=True), 0
            done(1, len(content))
        writing.commit()
    except BaseException:
        writing.abort()
        raise


def _refuses(name: bytes, size: int) -> str:
    if len(name) > _LONGEST:
        return f"a name of {len(name)} bytes; {_LONGEST} at most"
    return f"larger than {_LARGEST} bytes" if size > _LARGEST else ""


def _is_one(path: str) -> bool:
    return starts_with(os.path.join(path, _FILE) if os.path.isdir(path) else path, _MAGIC, 16)


FORM = Form(
    name="lmdb", endings=(".lmdb",), is_one=_is_one, open=LightningPack, write=_write, refuses=_refuses, each=2 * _PAGE
)
