"""Brings the chunks of one dataset to this node: from the node above in the tree, else from shared storage."""

import os
import queue
import threading
import time
from typing import Callable, Dict, List, Optional

from voyageur.runtime.staging.cargo import Cargo, Changed, read_piece
from voyageur.runtime.staging.hold import Arrival
from voyageur.runtime.staging.network import Address, Line

THREADS = 4  # shared storage answers slowly, but several at once; more would take CPU from the program
SMALL_THREADS = 16  # for many small files each of which costs a round of questions
_TRIES = 2  # of a chunk that is not what its index says: once may have been the way


class Damaged(Exception):
    """What is read is not what the index says."""


class Above:
    """The node above, as seen from here. A line that breaks is made anew once; then it is not asked again."""

    def __init__(self, address: Optional[Address], secret: bytes, node: int) -> None:
        self.address = address
        self.node = node
        self._secret = secret
        self._lines = threading.local()

    def chunk(self, name: str, number: int, size: int) -> Optional[bytes]:
        found = self._ask(want="chunk", name=name, number=number)
        return found if found is not None and len(found) == size else None

    def cargo(self, name: str) -> Optional[bytes]:
        return self._ask(want="cargo", name=name) or None

    def done(self, name: str) -> None:
        self._ask(want="nothing more", name=name)

    def _ask(self, **question: object) -> Optional[bytes]:
        for _ in range(2):
            try:
                return self._line(self.address).ask(node=self.node, **question) if self.address else None
            except OSError:
                self._lines.line = None
        self.address = None
        return None

    def _line(self, address: Address) -> Line:
        line: Optional[Line] = getattr(self._lines, "line", None)
        if line is None:
            line = self._lines.line = Line.to(address, self._secret)
        return line


class Carrier:
    def __init__(
        self, name: str, arrival: Arrival, above: Above, told: Callable[[int], None] = lambda size: None
    ) -> None:
        self.name = name
        self.arrival = arrival
        self.above = above
        self.shared_bytes = self.other_bytes = 0
        self._told = told
        self._numbers: "queue.SimpleQueue[int]" = queue.SimpleQueue()
        self._problems: List[Exception] = []
        self._damaged: Dict[int, str] = {}
        self._counting = threading.Lock()

    def run(self) -> None:
        """All that is missing, in order. Raises what went wrong first; Damaged only after all the rest is here."""
        for number in self.arrival.missing():
            self._numbers.put(number)
        threads = [threading.Thread(target=self._work) for _ in range(_how_many(self.arrival.cargo))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if self._problems:
            raise self._problems[0]
        if self._damaged:
            parts = "; ".join(self._damaged[number] for number in sorted(self._damaged)[:3])
            where = os.path.join(self.arrival.cargo.base, self.arrival.cargo.items[0].name)
            if len(self.arrival.cargo.items) == 1:
                raise Damaged("%s is not what was written down of it: %s is damaged" % (parts, where))
            raise Damaged("%s is not what its index says; `voy data verify %s` tells more" % (parts, where))

    def _work(self) -> None:
        while not self._problems:
            try:
                number = self._numbers.get_nowait()
            except queue.Empty:
                return
            try:
                self._bring(number)
            except (Changed, OSError) as problem:
                self._problems.append(problem)

    def _bring(self, number: int) -> None:
        content = self._from_above(number)
        if content is None:
            content = self._from_shared(number)
        if content is None:
            self.arrival.break_off(number)
            self._damaged[number] = _where(self.arrival.cargo, number)
            return
        self.arrival.put(number, content)
        self._told(len(content))

    def _from_above(self, number: int) -> Optional[bytes]:
        content = self.above.chunk(self.name, number, self.arrival.cargo.chunk_size(number))
        if content is None or not self.arrival.cargo.is_right(number, content):
            return None
        with self._counting:
            self.other_bytes += len(content)
        return content

    def _from_shared(self, number: int) -> Optional[bytes]:
        cargo = self.arrival.cargo
        for _ in range(_TRIES):
            content = b"".join(read_piece(cargo, piece) for piece in cargo.chunks[number])
            with self._counting:
                self.shared_bytes += len(content)
            if cargo.is_right(number, content):
                return content
            time.sleep(0.1)
        return None


def _how_many(cargo: Cargo) -> int:
    """Many small files cost many questions; a few large ones only bytes."""
    files = len(cargo.items)
    return max(1, min(len(cargo.chunks), SMALL_THREADS if files > 8 * len(cargo.chunks) else THREADS))


def _where(cargo: Cargo, number: int) -> str:
    piece = cargo.chunks[number][0]
    name = cargo.items[piece.item].name
    return "%s from byte %d to %d" % (name, piece.offset, piece.offset + cargo.chunk_size(number))
