"""Staying with a run until it ends: its log as it is written, its end as it is known."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from voyageur.commands import etiquette
from voyageur.record import Run, Verdict, without_asking
from voyageur.runs import Runs, wait_pauses
from voyageur.show.output import write

_ASK_AT_MOST_EVERY = (
    20.0  # seconds between two questions to Slurm about one run; the folder is looked at far more often
)


def follow(
    runs: Runs,
    run: Run,
    *,
    quietly: bool = False,
    from_end: int | None = None,
    show: Callable[[bytes], object] = write,
) -> tuple[Run, Verdict]:
    log = Log(run.log, None if quietly else show, from_end)
    for now, verdict in states(runs, run, most=0.5):
        log.copy()
        if verdict and verdict.state.is_final:
            log.copy()
            log.end_line()
            return now, verdict
    raise AssertionError("states() ends only with a final one")


def states(runs: Runs, run: Run, most: float = 10.0) -> Iterator[tuple[Run, Verdict | None]]:
    """The run again and again until it is final: its folder often, its engine seldom."""
    least = etiquette.poll_pause(run.record.site)
    asked, pause_to_ask, longest = float("-inf"), max(1.0, least), max(_ASK_AT_MOST_EVERY, least)
    for pause in wait_pauses():
        run = run.reread()
        verdict = without_asking(run)
        if verdict is None and time.monotonic() - asked >= pause_to_ask:
            run, verdict = runs.look(run)
            asked, pause_to_ask = time.monotonic(), min(pause_to_ask * 1.5, longest)
        yield run, verdict
        if verdict and verdict.state.is_final:
            return
        time.sleep(min(pause, most))


class Log:
    """A log file that grows; what was not shown yet is copied on."""

    def __init__(self, path: Path, show: Callable[[bytes], object] | None, last_lines: int | None = None) -> None:
        self.path = path
        self.show = show
        self.position = _start_of_last(path, last_lines) if last_lines is not None else 0
        self.line_is_open = False

    def copy(self) -> None:
        if self.show is None:
            return
        try:
            with open(self.path, "rb") as file:
                file.seek(self.position)
                while block := file.read(1 << 16):
                    self.show(block)
                    self.line_is_open = not block.endswith(b"\n")
                self.position = file.tell()
        except FileNotFoundError:
            return

    def end_line(self) -> None:
        """What is said about the run stands on a line of its own."""
        if self.show and self.line_is_open:
            self.show(b"\n")


_BLOCK = 1 << 16


def _start_of_last(path: Path, lines: int) -> int:
    """Where the last so many lines begin, read from the end backwards, each block once."""
    try:
        with open(path, "rb") as file:
            end = file.seek(0, 2)
            return _after_break(file, end, lines + _ends_line(file, end)) if lines else end
    except OSError:
        return 0


def _ends_line(file: BinaryIO, end: int) -> bool:
    file.seek(max(0, end - 1))
    return file.read(1) == b"\n"


def _after_break(file: BinaryIO, position: int, count: int) -> int:
    """Behind the so-manieth line break from the end; the beginning of the file if it has fewer."""
    while position > 0:
        start = max(0, position - _BLOCK)
        file.seek(start)
        block = file.read(position - start)
        found = block.count(b"\n")
        if found >= count:
            return start + len(block) - len(block.split(b"\n", found - count + 1)[-1])
        position, count = start, count - found
    return 0
