"""How many files a folder holds, where no tool tells: several threads, because a shared file system answers slowly and
to many at once; in bounded time, because there may be millions."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Callable
from queue import Empty, LifoQueue

from msgspec import Struct

from voyageur.units import Duration

PATIENCE = Duration(60)
_THREADS = 16
_BREATH = 0.2  # seconds


class Count(Struct, frozen=True, kw_only=True):
    """Folders count too: each takes an inode. `most` are the entries of the folder that hold most of them.

    Without `complete`, at least so many: time ran out, or some folders may not be read (`closed`).
    """

    folder: str
    files: int
    folders: int
    complete: bool
    closed: int
    seconds: float
    most: tuple[tuple[str, int], ...] = ()

    @property
    def inodes(self) -> int:
        return self.files + self.folders


def count_files(folder: str, patience: Duration = PATIENCE, watch: Callable[[int], None] = lambda _: None) -> Count:
    """`watch` is told now and then how far it got. A ^C ends the counting and not the answer."""
    started = time.monotonic()
    work = _Work(folder)
    for _ in range(_THREADS):
        threading.Thread(target=work.go_on, daemon=True).start()
    try:
        while not work.done.wait(_BREATH) and time.monotonic() - started < patience.seconds:
            watch(work.inodes)
    except KeyboardInterrupt:
        pass
    return work.result(time.monotonic() - started)


class _Work:
    """Folders that wait to be read. Files of another file system are another quota's."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.device = os.stat(folder).st_dev
        self.waiting: LifoQueue[tuple[str, str]] = LifoQueue()
        self.waiting.put((folder, ""))
        self.open = 1
        self.files = self.closed = 0
        self.folders = 1
        self.by_entry: Counter[str] = Counter()
        self.lock = threading.Lock()
        self.done = threading.Event()

    @property
    def inodes(self) -> int:
        return self.files + self.folders

    def go_on(self) -> None:
        while not self.done.is_set():
            try:
                folder, entry = self.waiting.get(timeout=_BREATH)
            except Empty:
                continue
            self._read(folder, entry)

    def _read(self, folder: str, entry: str) -> None:
        files, folders, closed = Counter[str](), [], 0
        try:
            with os.scandir(folder) as items:
                for item in items:
                    if not item.is_dir(follow_symlinks=False):
                        files[entry or item.name] += 1
                    elif item.stat(follow_symlinks=False).st_dev == self.device:
                        folders.append((item.path, entry or item.name))
        except OSError:
            closed = 1
        self._note(files, folders, closed)

    def _note(self, files: Counter[str], folders: list[tuple[str, str]], closed: int) -> None:
        with self.lock:
            self.by_entry += files
            self.by_entry.update(entry for _, entry in folders)
            self.files += files.total()
            self.folders += len(folders)
            self.closed += closed
            self.open += len(folders) - 1
            for found in folders:
                self.waiting.put(found)
            if not self.open:
                self.done.set()

    def result(self, seconds: float) -> Count:
        with self.lock:
            complete = self.open == 0
            self.done.set()
            return Count(
                folder=self.folder,
                files=self.files,
                folders=self.folders,
                complete=complete and not self.closed,
                closed=self.closed,
                seconds=round(seconds, 1),
                most=tuple(self.by_entry.most_common(3)),
            )
