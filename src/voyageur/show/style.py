"""Colours and tables on a terminal, plain text in a pipe."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from voyageur.record import State

_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "34", "cyan": "36"}
_STATE_COLOURS = {
    State.DONE: "green",
    State.RUNNING: "cyan",
    State.ENDING: "cyan",
    State.PENDING: "blue",
    State.SUBMITTING: "yellow",
    State.STUCK: "yellow",
    State.STOPPED: "yellow",
    State.SUSPECT: "yellow",
    State.UNKNOWN: "yellow",
    State.CANCELLED: "dim",
}


def has_colours(stream: object = None) -> bool:
    stream = stream or sys.stdout
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return bool(getattr(stream, "isatty", lambda: False)()) and not plain


def paint(text: str, colour: str, colours: bool) -> str:
    return f"\x1b[{_CODES[colour]}m{text}\x1b[0m" if colours else text


def state_colour(state: State) -> str:
    return _STATE_COLOURS.get(state, "red")


def columns() -> int | None:
    """How wide the terminal is; None in a pipe. Some terminals say 0 when they do not know: then it is 80."""
    if not sys.stdout.isatty():
        return None
    told = os.environ.get("COLUMNS", "")
    if told.isdecimal() and int(told):
        return int(told)
    try:
        return os.get_terminal_size(1).columns or 80
    except OSError:
        return 80


def table(head: Sequence[str], rows: Sequence[Sequence[str]], colours: bool, state_column: int | None = None) -> str:
    """Columns as wide as they need; the last one is cut at the terminal's edge."""
    wide = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head) - 1)]
    room = max(10, (columns() or 10_000) - sum(wide) - 2 * len(wide))
    lines = [paint(_joined(_cells(head, wide, room)), "dim", colours)]
    for row in rows:
        cells = _cells(row, wide, room)
        if state_column is not None and colours:
            word = row[state_column]
            cells[state_column] = cells[state_column].replace(word, paint(word, state_colour(_state(word)), True), 1)
        lines.append(_joined(cells))
    return "\n".join(lines)


def _cells(row: Sequence[str], wide: Sequence[int], room: int) -> list[str]:
    *first, last = row
    padded = [f"{cell:<{size}}" for cell, size in zip(first, wide, strict=True)]
    return [*padded, last if len(last) <= room else last[: room - 1] + "…"]


def _joined(cells: Sequence[str]) -> str:
    return "  ".join(cells).rstrip()


def _state(word: str) -> State:
    try:
        return State(word)
    except ValueError:
        return State.UNKNOWN
