"""Draw a terminal session as an SVG: `python docs/pictures/make.py OUT.svg 'voy plan' 'voy status'`.

Every command is really run, in a pseudo-terminal, so that its colours are those a user would see.
"""

from __future__ import annotations

import argparse
import fcntl
import html
import os
import pty
import re
import shlex
import struct
import subprocess
import termios
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

WIDTH, HEIGHT, MARGIN = 7.826, 18, 16  # of one letter, of one line, around the text; in pixels
GROUND, PLAIN, DIM = "#1d2330", "#d8dee9", "#8a93a5"
COLOURS = {"31": "#e57373", "32": "#8fc98a", "33": "#e2c06f", "34": "#7fa8e0", "36": "#74c5cf"}


class Piece(NamedTuple):
    text: str
    codes: frozenset[str]


def session(command: str, columns: int) -> str:
    """What the command writes to a terminal of this width."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    process = subprocess.Popen(
        shlex.split(command), stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, close_fds=True
    )
    os.close(theirs)
    written = b""
    while block := _read(ours):
        written += block
    process.wait()
    os.close(ours)
    return written.decode().replace("\r\n", "\n").rstrip("\n")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65_536)
    except OSError:  # Linux says EIO when the other side is closed
        return b""


def pieces(line: str) -> Iterator[Piece]:
    codes: frozenset[str] = frozenset()
    for part in re.split(r"(\x1b\[[\d;]*m)", line):
        if part.startswith("\x1b["):
            new = {code for code in part[2:-1].split(";") if code not in ("", "0")}
            codes = codes | new if new else frozenset()
        elif part:
            yield Piece(part, codes)


def cut(line: str, columns: int) -> list[Piece]:
    """As a narrow window would show it: what does not fit is not there."""
    kept, room = [], columns
    for piece in pieces(line):
        kept.append(Piece(piece.text[:room], piece.codes))
        room -= len(kept[-1].text)
    return [piece for piece in kept if piece.text]


def drawn(line: list[Piece], row: int) -> str:
    """Every word is put in its own place, so that columns stay columns in any font."""
    place, parts = 0, []
    for text, codes in line:
        fill = DIM if "2" in codes else next((COLOURS[code] for code in codes if code in COLOURS), PLAIN)
        weight = ' font-weight="bold"' if "1" in codes else ""
        for word in re.finditer(r"\S+", text):
            start, length = MARGIN + (place + word.start()) * WIDTH, len(word[0]) * WIDTH
            shape = f'x="{start:.1f}" textLength="{length:.1f}" fill="{fill}"{weight}'
            parts.append(f"<tspan {shape}>{html.escape(word[0])}</tspan>")
        place += len(text)
    return f'<text y="{MARGIN + (row + 1) * HEIGHT - 4}">{"".join(parts)}</text>'


def picture(lines: list[str], columns: int) -> str:
    width, height = columns * WIDTH + 2 * MARGIN, len(lines) * HEIGHT + 2 * MARGIN
    rows = [drawn(cut(line, columns), row) for row, line in enumerate(lines) if line]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" '
            f'height="{height}" font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="13">',
            f'<rect width="100%" height="100%" rx="8" fill="{GROUND}"/>',
            *rows,
            "</svg>\n",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", type=Path)
    parser.add_argument("commands", nargs="+")
    parser.add_argument("--columns", type=int, default=110)
    parser.add_argument("--first-part", action="store_true", help="only what each command writes before a blank line")
    options = parser.parse_args()
    lines: list[str] = []
    for command in options.commands:
        written = session(command, options.columns)
        shown = written.partition("\n\n")[0] if options.first_part else written
        lines += [*([""] if lines else []), f"\x1b[2m$\x1b[0m \x1b[1m{command}\x1b[0m", *shown.split("\n")]
    options.target.write_text(picture(lines, options.columns), encoding="utf-8")


if __name__ == "__main__":
    main()
