"""Staying with a run until it ends: its log as it is written, its end as it is known."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from voyageur.record import Run, Verdict, without_asking
from voyageur.runs import Runs, wait_pauses

_ASK_AT_MOST_EVERY = (
    20.0  # seconds between two questions to Slurm about one run; the folder is looked at far more often
)


def follow(runs: Runs, run: Run, *, quietly: bool = False, from_end: int | None = None) -> tuple[Run, Verdict]:
    log = Log(run.log, None if quietly else sys.stdout.buffer, from_end)
    for now, verdict in states(runs, run, most=0.5):
        log.copy()
        if verdict and verdict.state.is_final:
            log.copy()
            return now, verdict
    raise AssertionError("states() ends only with a final one")


def states(runs: Runs, run: Run, most: float = 10.0) -> Iterator[tuple[Run, Verdict | None]]:
    """The run again and again until it is final: its folder often, its engine seldom."""
    asked, pause_to_ask = 0.0, 1.0
    for pause in wait_pauses():
        run = run.reread()
        verdict = without_asking(run)
        if verdict is None and time.monotonic() - asked >= pause_to_ask:
            run, verdict = runs.look(run)
            asked, pause_to_ask = time.monotonic(), min(pause_to_ask * 1.5, _ASK_AT_MOST_EVERY)
        yield run, verdict
        if verdict and verdict.state.is_final:
            return
        time.sleep(min(pause, most))


class Log:
    """A log file that grows; what was not shown yet is copied on."""

    def __init__(self, path: Path, target: BinaryIO | None, last_lines: int | None = None) -> None:
        self.path = path
        self.target = target
        self.position = _start_of_last(path, last_lines) if last_lines is not None else 0

    def copy(self) -> None:
        if self.target is None:
            return
        try:
            with open(self.path, "rb") as file:
                file.seek(self.position)
                while block := file.read(1 << 16):
                    self.target.write(block)
                self.position = file.tell()
        except FileNotFoundError:
            return
        self.target.flush()


def _start_of_last(path: Path, lines: int) -> int:
    """Where the last so many lines begin, read from the end backwards."""
    try:
        with open(path, "rb") as file:
            end = position = file.seek(0, 2)
            tail = b""
            while position > 0 and tail.count(b"\n") <= lines:
                position = max(0, position - (1 << 16))
                file.seek(position)
                tail = file.read(end - position)
    except OSError:
        return 0
    kept = b"".join(tail.splitlines(keepends=True)[-lines:]) if lines else b""
    return end - len(kept)
