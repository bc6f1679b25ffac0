"""Many hands for questions whose answers bring further questions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

HANDS = 32  # a shared file system answers slowly, but so many at a time

T = TypeVar("T")


class Crew(Generic[T]):
    """`for about, answer in crew`, as they come, until nothing more is asked."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(HANDS, "crew")
        self._answers: SimpleQueue[tuple[bytes, Future[T]]] = SimpleQueue()
        self._open = 0

    def ask(self, about: bytes, function: Callable[..., T], *arguments: Any) -> None:
        self._open += 1
        future = self._pool.submit(function, *arguments)
        future.add_done_callback(lambda answered: self._answers.put((about, answered)))

    def __iter__(self) -> Iterator[tuple[bytes, Future[T]]]:
        try:
            while self._open:
                answer = self._answers.get()
                self._open -= 1
                yield answer
        finally:
            self._pool.shutdown(wait=True, cancel_futures=True)
