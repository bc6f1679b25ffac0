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
    return bool(getattr(stream, "isatty", lambda: False)()) and not os.environ.get("NO_COLOR")


def paint(text: str, colour: str, colours: bool) -> str:
    return f"\x1b[{_CODES[colour]}m{text}\x1b[0m" if colours else text


def state_colour(state: State) -> str:
    return _STATE_COLOURS.get(state, "red")


def width() -> int:
    return os.get_terminal_size().columns if sys.stdout.isatty() else 10_000


def table(head: Sequence[str], rows: Sequence[Sequence[str]], colours: bool, state_column: int | None = None) -> str:
    """Columns as wide as they need; the last one is cut at the terminal's edge."""
    wide = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head) - 1)]
    room = max(10, width() - sum(wide) - 2 * len(wide))
    lines = [paint(_line(head, wide, room), "dim", colours)]
    for row in rows:
        line = _line(row, wide, room)
        if state_column is not None:
            word = row[state_column]
            line = line.replace(word, paint(word, state_colour(_state(word)), colours), 1) if colours else line
        lines.append(line)
    return "\n".join(lines)


def _line(cells: Sequence[str], wide: Sequence[int], room: int) -> str:
    *first, last = cells
    padded = [f"{cell:<{size}}" for cell, size in zip(first, wide, strict=True)]
    cut = last if len(last) <= room else last[: room - 1] + "…"
    return "  ".join([*padded, cut]).rstrip()


def _state(word: str) -> State:
    try:
        return State(word)
    except ValueError:
        return State.UNKNOWN
