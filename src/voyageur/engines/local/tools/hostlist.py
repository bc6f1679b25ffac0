"""Slurm's lists of host names: `n[1-3,5],m07`."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator


def expand(text: str) -> list[str]:
    """Every name, in order; ValueError for a list that makes no sense."""
    return [name for word in _words(text) for name in _names(word)]


def _words(text: str) -> list[str]:
    """Cut at the commas that stand outside brackets."""
    if not re.fullmatch(r"([^\[\]]|\[[^\[\]]*\])*", text):
        raise ValueError(f"brackets do not match in `{text}`")
    return [word for word in re.findall(r"(?:[^,\[]|\[[^\]]*\])+", text.replace(" ", "")) if word]


def _names(word: str) -> Iterator[str]:
    """A part between brackets gives one name for each of its numbers; the last part changes fastest."""
    parts = re.findall(r"\[[^\]]*\]|[^\[]+", word)
    for chosen in itertools.product(*(list(_numbers(part[1:-1])) if part[0] == "[" else [part] for part in parts)):
        yield "".join(chosen)


def _numbers(ranges: str) -> Iterator[str]:
    """`08-11` is 08 09 10 11: as many digits as the first has."""
    for each in ranges.split(","):
        found = re.fullmatch(r"(\d+)(?:-(\d+))?", each)
        if not found:
            raise ValueError(f"`{each}` is neither a number nor a range")
        first, last = found[1], found[2] or found[1]
        for number in range(int(first), int(last) + 1):
            yield str(number).zfill(len(first))
