"""What a folder costs on a shared file system: how many files, how large, and where the worst of them are."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from voyageur.data.crew import Crew

_AT_ONCE = 256  # files that one hand asks about

SMALL = 1 << 20  # below, the answers of the file system take longer than the bytes
MANY = 1000

Counted = Callable[[int, int], None]


@dataclass
class FolderCount:
    name: bytes
    files: int = 0
    size: int = 0


@dataclass
class Scan:
    path: str
    files: int = 0
    folders: int = 0
    size: int = 0
    small: int = 0
    counts: dict[bytes, FolderCount] = field(default_factory=dict)  # each without its subfolders
    unreadable: list[tuple[bytes, str]] = field(default_factory=list)

    def worst(self, count: int) -> list[FolderCount]:
        return sorted(self.counts.values(), key=lambda found: (-found.files, found.name))[:count]

    @property
    def is_for_a_pack(self) -> bool:
        return self.files >= MANY and self.size / max(1, self.files) < SMALL


def scan(path: str, counted: Counted) -> Scan:
    found = Scan(path)
    root = os.fsencode(path)
    crew: Crew[_Listed | _Weighed] = Crew()
    crew.ask(b"", _list, root, b"")
    for folder, answer in crew:
        try:
            told = answer.result()
        except OSError as problem:
            found.unreadable.append((folder, problem.strerror or str(problem)))
            continue
        if isinstance(told, _Weighed):
            _add(found, folder, told)
            counted(told.files, told.size)
            continue
        found.folders += 1
        for below in told.folders:
            crew.ask(below, _list, root, below)
        names = iter(told.files)
        while some := list(islice(names, _AT_ONCE)):
            crew.ask(folder, _weigh, root, folder, some)
    return found


class _Listed(NamedTuple):
    files: list[bytes]
    folders: list[bytes]


class _Weighed(NamedTuple):
    files: int
    size: int
    small: int


def _list(root: bytes, folder: bytes) -> _Listed:
    listed = _Listed([], [])
    with os.scandir(os.path.join(root, folder) if folder else root) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                listed.folders.append(folder + b"/" + entry.name if folder else entry.name)
            else:
                listed.files.append(entry.name)
    return listed


def _weigh(root: bytes, folder: bytes, names: list[bytes]) -> _Weighed:
    """Whatever is no folder counts against a quota of files; what went away meanwhile does not."""
    sizes = []
    for name in names:
        with contextlib.suppress(FileNotFoundError):
            sizes.append(os.lstat(os.path.join(root, folder, name)).st_size)
    return _Weighed(len(sizes), sum(sizes), sum(size < SMALL for size in sizes))


def _add(found: Scan, folder: bytes, told: _Weighed) -> None:
    found.files += told.files
    found.size += told.size
    found.small += told.small
    count = found.counts.setdefault(folder, FolderCount(folder))
    count.files += told.files
    count.size += told.size
