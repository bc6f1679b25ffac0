"""HDF5: `names`, `sizes` and `content`, three columns of one length; each content is a row of bytes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from voyageur.data.forms.form import Chosen, Form, PerProcess, Written, library, starts_with
from voyageur.job.data import BrokenPack, NotAPack
from voyageur.job.data.folder import Listed

_COLUMNS = ("names", "sizes", "content")
_AT_ONCE = 8 << 20  # bytes
_LARGEST = (1 << 32) - 1  # the length of a row is written in four bytes


class Hdf5Pack(Listed):
    def __init__(self, path: str, _: str) -> None:
        self._file = PerProcess(lambda: _opened(path))
        names, sizes = (self._file()[column][:] for column in _COLUMNS[:2])
        self._rows = {bytes(name): row for row, name in enumerate(names)}
        self._sizes = sizes
        if len(self._rows) != len(names):
            raise BrokenPack(f"{path} has several members of one name")
        super().__init__(path, list(self._rows))

    def _size(self, number: int) -> int:
        return int(self._sizes[self._rows[self._names[number]]])

    def _view(self, number: int) -> memoryview:
        name = self._names[number]
        try:
            content = memoryview(self._file()["content"][self._rows[name]])
        except (OSError, RuntimeError, ValueError) as problem:
            raise BrokenPack(f"{self.path} is broken", [str(problem)]) from None
        if len(content) != self._size(number):
            raise BrokenPack(f"{self.path} is broken", [f"{name.decode(errors='replace')} has another size"])
        return content

    def _read(self, number: int) -> bytes:
        return bytes(self._view(number))


def _opened(path: str) -> Any:
    h5py = library("h5py")
    try:
        file = h5py.File(path, "r", locking=False)
    except OSError as problem:
        raise BrokenPack(f"{path} is no whole HDF5 file", [str(problem)]) from None
    try:
        found = all(_is_plain(h5py, file, column) for column in _COLUMNS)
    except (OSError, RuntimeError, KeyError) as problem:
        raise BrokenPack(f"{path} is broken", [str(problem)]) from None
    if not found or len({file[column].shape for column in _COLUMNS}) != 1:
        raise NotAPack(f"{path} is laid out in another way", [f"wanted: {', '.join(_COLUMNS)}, each of one dimension"])
    return file


def _is_plain(h5py: Any, file: Any, column: str) -> bool:
    """In this file: a column of HDF5 may also be a link, or bytes of any file whose name it gives."""
    if not isinstance(file.get(column, getlink=True), h5py.HardLink):
        return False
    table = file[column]
    kinds = {"names": h5py.check_string_dtype, "content": h5py.check_vlen_dtype, "sizes": lambda kind: kind.kind == "i"}
    return (
        isinstance(table, h5py.Dataset)
        and not (table.is_virtual or table.external)
        and table.ndim == 1
        and bool(kinds[column](table.dtype))
    )


def _write(chosen: Chosen, path: str, done: Written) -> None:
    h5py, numpy = library("h5py"), library("numpy")
    try:
        with h5py.File(path, "w", locking="best-effort") as file:
            count = (len(chosen),)
            names = file.create_dataset("names", count, dtype=h5py.string_dtype("utf-8"))
            sizes = file.create_dataset("sizes", count, dtype="<i8")
            content = file.create_dataset("content", count, dtype=h5py.vlen_dtype(numpy.uint8))
            at = 0
            for group in _groups(chosen):
                end = at + len(group)
                names[at:end] = [name for name, _ in group]
                sizes[at:end] = [len(view) for _, view in group]
                _put(h5py, content, at, [numpy.frombuffer(view, numpy.uint8) for _, view in group], numpy)
                at = end
                done(len(group), sum(len(view) for _, view in group))
    except RuntimeError as problem:  # what HDF5 says of a full disk when it closes the file
        raise OSError(str(problem)) from None


def _groups(chosen: Chosen) -> Iterator[list[tuple[bytes, memoryview]]]:
    size = 0

    def number(pair: tuple[bytes, memoryview]) -> int:
        nonlocal size
        size += len(pair[1]) + 1024
        return size // _AT_ONCE

    return (list(group) for _, group in itertools.groupby(chosen, number))


def _put(h5py: Any, table: Any, at: int, rows: list[Any], numpy: Any) -> None:
    """`table[a:b] = rows` takes several rows of one byte for one row of several."""
    values = numpy.empty(len(rows), dtype=table.dtype)
    for number, row in enumerate(rows):
        values[number] = row
    place = table.id.get_space()
    place.select_hyperslab((at,), (len(rows),))
    table.id.write(h5py.h5s.create_simple((len(rows),)), place, values, h5py.h5t.py_create(table.dtype))


def _refuses(name: bytes, size: int) -> str:
    return f"larger than {_LARGEST} bytes" if size > _LARGEST else ""


def _is_one(path: str) -> bool:
    return starts_with(path, b"\x89HDF\r\n\x1a\n")


def _open(path: str, room: str) -> Hdf5Pack:
    library("h5py")
    return Hdf5Pack(path, room)


FORM = Form(name="hdf5", endings=(".h5", ".hdf5"), is_one=_is_one, open=_open, write=_write, refuses=_refuses)
