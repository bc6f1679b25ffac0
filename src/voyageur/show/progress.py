"""One line on a terminal that tells how far something is; nothing at all where nobody watches."""

from __future__ import annotations

import contextlib
import sys
import time

from voyageur.units import Size

_EVERY = 0.2  # seconds


class Progress:
    """`packed 12,345 of 100,000 files · 118.2M · 4,115/s · 39.4M/s · 21s left`"""

    def __init__(self, doing: str, things: str, total: int | None = None, by_size: bool = False) -> None:
        self._doing, self._things, self.total, self._by_size = doing, things, total, by_size
        self._watched = sys.stderr.isatty()
        self._begin = self._next = time.monotonic()
        self.count = self.size = 0
        self._width = 0

    def set_total(self, total: int) -> None:
        self.total = total

    def add(self, count: int, size: int) -> None:
        self.count += count
        self.size += size
        if self._watched and time.monotonic() >= self._next:
            self._next = time.monotonic() + _EVERY
            self._draw(self._line())

    def add_size(self, size: int) -> None:
        self.add(0, size)

    def _line(self) -> str:
        spent = max(time.monotonic() - self._begin, 0.001)
        parts = [f"{self._doing} {self._so_far()}"]
        if self.size and not self._by_size:
            parts.append(str(Size(self.size)))
        if not self._by_size:
            parts.append(f"{self.count / spent:,.0f}/s")
        parts += [f"{Size(int(self.size / spent))}/s"] if self.size else []
        done = self.size if self._by_size else self.count
        if self.total and done:
            parts.append(f"{_left(spent / done * (self.total - done))} left")
        return " · ".join(parts)

    def _so_far(self) -> str:
        if self._by_size:
            return f"{Size(self.size)} of {Size(self.total)}" if self.total else str(Size(self.size))
        return f"{self.count:,} of {self.total:,} {self._things}" if self.total else f"{self.count:,} {self._things}"

    def _draw(self, line: str) -> None:
        with contextlib.suppress(OSError):
            sys.stderr.write(f"\r{line}{' ' * (self._width - len(line))}")
            sys.stderr.flush()
        self._width = len(line)

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        """Takes the line away: the answer comes next."""
        if self._width:
            self._draw("")
            with contextlib.suppress(OSError):
                sys.stderr.write("\r")
                sys.stderr.flush()


def _left(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.0f}s"
    minutes = round(seconds / 60)
    return f"{minutes}m" if minutes < 60 else f"{minutes // 60}h{minutes % 60:02}m"
