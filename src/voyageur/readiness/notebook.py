"""Notebooks: their cells as one Python program, and for each of its lines the line of the file that holds it."""

from __future__ import annotations

import json
from typing import Any, NamedTuple


class Cells(NamedTuple):
    """`lines[n]` is the file's line that holds line n + 1 of the program."""

    program: str
    lines: tuple[int, ...]


def cells_of(text: str) -> Cells:
    """Raises ValueError for what is no notebook."""
    document = json.loads(text)
    cells = document.get("cells") if isinstance(document, dict) else None
    if not isinstance(cells, list):
        raise ValueError("it has no cells")
    program: list[str] = []
    numbers: list[int] = []
    finder = _Finder(text)
    for cell in cells:
        for line, is_code in _source(cell):
            number = finder.line_of(line)
            if is_code:
                program.append(_python(line))
                numbers.append(number)
    return Cells("\n".join(program) + "\n", tuple(numbers))


def _source(cell: Any) -> list[tuple[str, bool]]:
    """Every line of a cell; those of text, and of cells for another language, are no code."""
    if not isinstance(cell, dict):
        return []
    source = cell.get("source", "")
    parts = source if isinstance(source, list) else [source]
    whole = "".join(part for part in parts if isinstance(part, str))
    is_code = cell.get("cell_type") == "code" and not whole.lstrip().startswith("%%")
    return [(line, is_code) for line in whole.split("\n")]


def _python(line: str) -> str:
    """`%matplotlib inline` and `!pip install x`, as the notebook itself would have them."""
    bare = line.lstrip()
    indent = line[: len(line) - len(bare)]
    if bare.startswith("!"):
        return f"{indent}get_ipython().system({bare[1:]!r})"
    if bare.startswith("%"):
        name, _, rest = bare.lstrip("%").partition(" ")
        return f"{indent}get_ipython().run_line_magic({name!r}, {rest!r})"
    if bare.endswith("?") and bare.rstrip("?").replace(".", "a").isidentifier():
        return f"{indent}pass"
    return line


class _Finder:
    """Each line of a cell stands in the file as a JSON text of its own, one after the other."""

    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")
        self._at = 0

    def line_of(self, line: str) -> int:
        wanted = {json.dumps(line)[1:-1], json.dumps(line, ensure_ascii=False)[1:-1]}
        for number in range(self._at, len(self._lines)):
            if any(f'"{each}' in self._lines[number] for each in wanted):
                self._at = number + 1
                return number + 1
        return self._at or 1
