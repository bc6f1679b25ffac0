"""How far the program is, as its own log tells: what is done, of how much, and how long one of it takes."""

import os
import re
import time
from typing import Any, Dict, List, Optional, Tuple

Facts = Dict[str, Any]
_MOST_AT_ONCE = 8 << 20  # bytes of log; a program that writes more between two looks is read at its end only


# What `job.progress` writes; a launcher may put the rank in front.
_SAID = r"(?:^|: )voyageur: progress ([\d.]+)(?:/([\d.]+))?$"


class Progress:
    """Reads on from where the log ended when this attempt began. Lines of several ranks may repeat each other."""

    def __init__(self, log: str, pattern: str) -> None:
        self.log = log
        self.pattern = re.compile(pattern or _SAID)
        self.position = _size(log)
        self._open = b""  # the line that has no end yet
        self.first: Optional[float] = None
        self.done: Optional[float] = None
        self.total: Optional[float] = None
        self.step: Optional[float] = None
        self.began = time.time()
        self.first_at = self.last_at = 0.0
        self._base: Optional[Tuple[float, float]] = None

    def read(self, at_end: bool = False) -> None:
        for line in self._new_lines(at_end):
            match = self.pattern.search(line)
            if match:
                self._see(match)
        if self._base is None and self.done is not None:
            # Of lines that came at once nobody knows when each was written: what is timed begins with the last of them.
            self._base = (self.done, time.time())

    def _new_lines(self, at_end: bool) -> List[str]:
        """Progress bars end their lines with a carriage return."""
        try:
            with open(self.log, "rb") as file:
                start = max(self.position, _size(self.log) - _MOST_AT_ONCE)
                file.seek(start)
                block = file.read(_MOST_AT_ONCE)
                self.position = start + len(block)
        except OSError:
            return []
        whole = re.split(rb"[\r\n]+", self._open + block)
        self._open = b"" if at_end else whole.pop()[-65536:]
        return [line.decode("utf-8", "replace") for line in whole]

    def _see(self, match: "re.Match[str]") -> None:
        try:
            done = float(match.group(1))
            total = float(match.group(2)) if match.re.groups > 1 and match.group(2) else self.total
        except ValueError:
            return
        self.total = total
        if self.done is None:
            self.first = self.done = done
            self.first_at = time.time()
        elif done > self.done:
            step = done - self.done
            self.step = min(self.step or step, step)
            self.done = done
        else:
            return
        self.last_at = time.time()

    @property
    def is_complete(self) -> bool:
        return self.done is not None and self.total is not None and self.done >= self.total

    def facts(self) -> Facts:
        if self.done is None or self.first is None:
            return {}
        found: Facts = {"first": _plain(self.first), "done": _plain(self.done), "at": round(self.last_at, 1)}
        found["begun"] = round(self.first_at - self.began, 1)
        if self.total is not None:
            found["total"] = _plain(self.total)
        if self.step:
            found["step"] = _plain(self.step)
        if self._base and self.done > self._base[0]:
            found["per_unit"] = round((self.last_at - self._base[1]) / (self.done - self._base[0]), 3)
        return found


def _plain(number: float) -> float:
    return int(number) if number == int(number) else number


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0
