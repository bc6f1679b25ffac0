"""Folders of very many files, counted as fast as the file system answers, and no longer than people wait."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from queue import SimpleQueue

from msgspec import Struct

from voyageur.snapshot.select import NEVER

MANY = 10_000
_THREADS = 8  # a shared file system answers many at once
_PATIENCE = 1.5  # seconds
_ENOUGH = 2_000_000


class Crowd(Struct, frozen=True, kw_only=True):
    """A folder with more files below it than a file system likes. `at_least`: the time was up before the end."""

    path: str
    files: int
    folders: int
    at_least: bool = False

    @property
    def inodes(self) -> int:
        return self.files + self.folders


def find_crowds(root: Path, named: Iterable[str] = (), *, many: int = MANY, patience: float = _PATIENCE) -> list[Crowd]:
    """In the project, and in the folders outside of it that the command names."""
    tops = [str(root), *(folder for folder in named if not _is_inside(folder, root))]
    count = _Count(patience)
    count.run(tops)
    return [crowd for top in tops for crowd in count.crowds(top, many)]


def _is_inside(folder: str, root: Path) -> bool:
    return f"{os.path.realpath(folder)}/".startswith(f"{os.path.realpath(root)}/")


class _Count:
    """Every folder's own files and folders; what lies below is added up at the end."""

    def __init__(self, patience: float) -> None:
        self._deadline = time.monotonic() + patience
        self._found: dict[str, tuple[int, list[str]]] = {}
        self._waiting: SimpleQueue[str | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._open = 0
        self._seen = 0
        self.is_cut = False

    def run(self, tops: list[str]) -> None:
        self._open = len(tops)
        for top in tops:
            self._waiting.put(top)
        threads = [threading.Thread(target=self._work, daemon=True) for _ in range(_THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:  # one that hangs in a dead file system is left behind
            thread.join(max(0.0, self._deadline - time.monotonic()) + 0.2)
        with self._lock:
            self.is_cut = self.is_cut or self._open > 0

    def _work(self) -> None:
        while (folder := self._waiting.get()) is not None:
            files, folders = _own(folder)
            late = time.monotonic() > self._deadline or self._seen > _ENOUGH
            with self._lock:
                self._found[folder] = (files, folders)
                self._seen += files
                self.is_cut = self.is_cut or (late and bool(folders))
                more = [] if late else folders
                self._open += len(more) - 1
                is_last = self._open == 0
            for inner in more:
                self._waiting.put(inner)
            if is_last:
                for _ in range(_THREADS):
                    self._waiting.put(None)

    def crowds(self, top: str, many: int) -> Iterator[Crowd]:
        """The lowest folders that hold what makes them large: `data/train`, not all of the project."""
        with self._lock:
            found = dict(self._found)
        totals = _totals(top, found)
        waiting = [top] if totals[top][0] >= many else []
        while waiting:
            folder = waiting.pop()
            files, folders = totals[folder]
            heavy = [child for child in found.get(folder, (0, []))[1] if totals[child][0] >= many]
            rest = files - sum(totals[child][0] for child in heavy)
            if folder == top or rest < 0.1 * files:
                waiting.extend(heavy)
            if rest >= many or (folder != top and rest >= 0.1 * files):
                yield Crowd(path=folder, files=files, folders=folders, at_least=self.is_cut)


def _totals(top: str, found: dict[str, tuple[int, list[str]]]) -> dict[str, tuple[int, int]]:
    order = [top]
    for folder in order:
        order.extend(found.get(folder, (0, []))[1])
    totals: dict[str, tuple[int, int]] = {}
    for folder in reversed(order):
        files, folders = found.get(folder, (0, []))
        inner = [totals[child] for child in folders]
        totals[folder] = (files + sum(each[0] for each in inner), len(folders) + sum(each[1] for each in inner))
    return totals


def _own(folder: str) -> tuple[int, list[str]]:
    """Links are not followed: one may lead to all of a cluster, or to itself."""
    files, folders = 0, []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if not entry.is_dir(follow_symlinks=False):
                    files += 1
                elif not _is_foreign(entry):
                    folders.append(entry.path)
    except OSError:
        pass
    return files, folders


def _is_foreign(entry: os.DirEntry[str]) -> bool:
    marks = (f"{entry.path}/pyvenv.cfg", f"{entry.path}/conda-meta")
    return entry.name in NEVER or any(os.path.exists(mark) for mark in marks)
