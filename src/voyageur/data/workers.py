"""Processes that read batches. Opening a file costs Python as much as the disk, and threads share one Python."""

from __future__ import annotations

import contextlib
import mmap
import multiprocessing
import os
import signal
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from threading import Lock
from typing import Any

from voyageur.data.crew import HANDS

SLOT = 8 << 20  # bytes that a batch may fill; what is not filled takes no memory
SLOTS = 64

Work = Callable[[memoryview, Any], Any]  # reads what was asked for into a slot, and tells about it


class Workers:
    """Made before any thread is: they are forked. `slots` is memory that all of them share."""

    def __init__(self, work: Work) -> None:
        self._arena = mmap.mmap(-1, SLOT * SLOTS)
        self._free = list(range(SLOTS))
        self._pipes: list[Connection] = []
        self._processes = []
        self._answers: dict[int, Any] = {}
        self._asked = 0
        fork = multiprocessing.get_context("fork")
        count = min(4, len(os.sched_getaffinity(0)))
        for _ in range(count):
            mine, its = fork.Pipe()
            self._pipes.append(mine)
            process = fork.Process(
                target=_serve, args=(its, tuple(self._pipes), self._arena, work, HANDS // count), daemon=True
            )
            process.start()
            its.close()
            self._processes.append(process)

    @property
    def count(self) -> int:
        return len(self._processes)

    def ask(self, what: Any) -> tuple[int, int]:
        """The number of the question, and the slot for its answer."""
        number, slot = self._asked, self._free.pop()
        self._asked += 1
        self._pipe(number).send((number, slot, what))
        return number, slot

    def answer(self, number: int) -> Any:
        pipe = self._pipe(number)
        while number not in self._answers:
            try:
                answered, found = pipe.recv()
            except EOFError:
                raise ChildProcessError("a process that reads files was killed") from None
            self._answers[answered] = found
        found = self._answers.pop(number)
        if isinstance(found, BaseException):
            raise found
        return found

    def _pipe(self, number: int) -> Connection:
        return self._pipes[number % len(self._pipes)]

    def content(self, slot: int, size: int) -> memoryview:
        return memoryview(self._arena)[slot * SLOT : slot * SLOT + size]

    def give_back(self, slot: int) -> None:
        self._free.append(slot)

    def close(self) -> None:
        for pipe in self._pipes:
            pipe.close()
        for process in self._processes:
            process.terminate()
            process.join()


def _serve(pipe: Connection, others: Sequence[Connection], arena: mmap.mmap, work: Work, hands: int) -> None:
    """Until the other end is closed, which it also is when the one who asks was killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for other in others:
        other.close()
    lock = Lock()

    def serve(number: int, slot: int, what: Any) -> None:
        try:
            found = work(memoryview(arena)[slot * SLOT : (slot + 1) * SLOT], what)
        except BaseException as problem:
            found = problem
        with lock, contextlib.suppress(OSError):
            pipe.send((number, found))

    with ThreadPoolExecutor(hands) as pool:
        while True:
            try:
                asked = pipe.recv()
            except (EOFError, OSError):
                os._exit(0)
            pool.submit(serve, *asked)
