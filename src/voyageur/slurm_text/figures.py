"""Figures in Slurm's answers: a blank, a word or a column that is not there is unknown, and never zero."""

from __future__ import annotations

import math


def number(text: str) -> float | None:
    """`inf` is a number: the fair share of those who have used nothing yet. `parent` and `none` are not."""
    try:
        value = float(text.strip())
    except ValueError:
        return None
    return None if math.isnan(value) else value


def count(text: str) -> int | None:
    return int(text) if text.strip().isdecimal() else None


def amounts(text: str) -> dict[str, float]:
    """`cpu=1000,gres/gpu=60`, as Slurm writes trackable resources."""
    pairs = (item.rpartition("=") for item in text.split(","))
    found = ((name.strip(), number(value)) for name, _, value in pairs)
    return {name: value for name, value in found if name and value is not None}


def words(text: str) -> tuple[str, ...]:
    return tuple(word for word in (part.strip() for part in text.split(",")) if word)


def table(answer: str, known_by: str) -> list[dict[str, str]]:
    """Rows by the names of their columns, whatever stands above the heading and however many columns there are."""
    heading: list[str] = []
    rows = []
    for line in answer.splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if not heading and known_by in cells:
            heading = cells
        elif heading and len(cells) == len(heading):
            rows.append(dict(zip(heading, cells, strict=True)))
    return rows
