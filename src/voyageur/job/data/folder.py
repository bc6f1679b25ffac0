"""A plain folder, or one file of it after the other, behind the same face as a pack."""

import bisect
import mmap
import os
from array import array
from typing import Any, Iterator, List, Optional, Sequence, Tuple

from voyageur.job.data.errors import DataError, NotAPack
from voyageur.job.data.index import sample_of
from voyageur.job.data.pack import Pack


def in_order(name: bytes) -> bytes:
    """Sorts the files of one sample side by side: `a.cls`, `a.jpg`, then `a-b.jpg`."""
    return name.replace(b".", b"\0", 1)


def path_in_order(name: bytes) -> Tuple[bytes, bytes]:
    """Folder by folder, a folder's files before its subfolders."""
    folder, _, last = name.rpartition(b"/")
    return folder.replace(b"/", b"\0"), in_order(last)


def first_of_samples(names: Sequence[bytes]) -> Sequence[int]:
    starts, last = array("I"), b"/"
    for number, name in enumerate(names):
        sample = sample_of(name)
        if sample != last:
            starts.append(number)
            last = sample
    return starts


class Listed(Pack):
    """What keeps its names in memory: they are sorted, so that one is found without a second table."""

    def __init__(self, path: str, names: List[bytes]) -> None:
        self.path = path
        self._names = sorted(names, key=path_in_order)
        self._keys = _Keys(self._names)
        if not names:
            raise NotAPack("%s holds no files" % path)

    def __len__(self) -> int:
        return len(self._names)

    def _name(self, number: int) -> bytes:
        return self._names[number]

    def _find(self, name: bytes) -> Optional[int]:
        at = bisect.bisect_left(self._keys, path_in_order(name))
        return at if at < len(self._names) and self._names[at] == name else None

    def _samples(self) -> Sequence[int]:
        return first_of_samples(self._names)


class _Keys(Sequence[Tuple[bytes, bytes]]):
    def __init__(self, names: List[bytes]) -> None:
        self._names = names

    def __len__(self) -> int:
        return len(self._names)

    def __getitem__(self, number: Any) -> Any:
        return path_in_order(self._names[number])


class FolderPack(Listed):
    def __init__(self, path: str) -> None:
        absolute = os.path.abspath(path)
        self._root = os.fsencode(absolute)
        super().__init__(absolute, list(_files(self._root, b"")))

    def __reduce__(self) -> Tuple[Any, ...]:
        return FolderPack, (self.path,)

    def _path(self, number: int) -> bytes:
        return os.path.join(self._root, self._names[number])

    def _size(self, number: int) -> int:
        return os.stat(self._path(number)).st_size

    def _read(self, number: int) -> bytes:
        try:
            with open(self._path(number), "rb", buffering=0) as file:
                return file.readall()
        except OSError as problem:
            raise _cannot_read(self._path(number), problem) from None

    def _view(self, number: int) -> memoryview:
        try:
            with open(self._path(number), "rb", buffering=0) as file:
                size = os.fstat(file.fileno()).st_size
                return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if size else b"")
        except OSError as problem:
            raise _cannot_read(self._path(number), problem) from None


def _cannot_read(path: bytes, problem: OSError) -> DataError:
    return DataError("%s cannot be read: %s" % (path.decode("utf-8", "replace"), problem.strerror))


def _files(root: bytes, folder: bytes) -> Iterator[bytes]:
    """Files, and links to files; a link to a folder is not followed: it might lead round in a circle."""
    try:
        with os.scandir(os.path.join(root, folder) if folder else root) as entries:
            found = list(entries)
    except OSError as problem:
        raise _cannot_read(os.path.join(root, folder), problem) from None
    for entry in found:
        name = folder + b"/" + entry.name if folder else entry.name
        if entry.is_dir(follow_symlinks=False):
            yield from _files(root, name)
        elif entry.is_file():
            yield name
