"""TOML files as flat keys, each with the line it stands on."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from voyageur.errors import SpecError

_USUAL_HINT = "mend that line; `voy init --print` shows a file that is right"


def read(file: Path) -> dict[str, Any]:
    text = text_of(file)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise SpecError(
            f"{file.name} is not valid TOML",
            facts=[f"{file}: {problem}"],
            hint=_experiment_twice(text) or _USUAL_HINT,
        ) from None


def text_of(file: Path) -> str:
    """Editors on Windows put a mark in front of UTF-8; TOML does not know it."""
    try:
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise SpecError(f"{file.name} is not UTF-8 text", facts=[str(file)], hint="save it as UTF-8") from None
    except OSError as problem:
        raise SpecError(
            f"{file.name} cannot be read", facts=[f"{file}: {problem.strerror}"], hint="make it readable for you"
        ) from None


def _experiment_twice(text: str) -> str | None:
    key = re.search(r"^\s*experiment\s*=", text, re.MULTILINE)
    table = re.search(r"^\s*\[(?:tool\.voyageur\.)?experiment\b", text, re.MULTILINE)
    if not (key and table):
        return None
    return "a file has `experiment = ...` or tables [experiment.NAME], not both: take the key out, and choose with `-e`"


def flat(table: dict[str, Any], leaves: frozenset[str], prefix: str = "") -> dict[str, Any]:
    """{"resources": {"nodes": 2}} -> {"resources.nodes": 2}; a table that is itself a value stays whole."""
    found: dict[str, Any] = {}
    for key, value in table.items():
        path = f"{prefix}{key}"
        if isinstance(value, dict) and _own(path) not in leaves:
            found.update(flat(value, leaves, f"{path}."))
        else:
            found[path] = value
    return found


def _own(path: str) -> str:
    """A key below `sites.NAME` without that."""
    return path.split(".", 2)[2] if path.startswith("sites.") and path.count(".") > 1 else path


def line_of(text: str, path: str) -> int | None:
    """The line of a dotted key: below its table's header, or dotted, or else where its table begins."""
    table, best = "", None
    for number, line in _statements(text):
        if header := re.match(r"\s*\[+\s*([^\]]+?)\s*\]+", line):
            table = _plain(header[1]) + "."
            if f"{path}.".startswith(table):
                best = number
        elif entry := re.match(r"\s*([\w.\"' -]+?)\s*=", line):
            key = table + _plain(entry[1])
            if key == path:
                return number
            if path.startswith(f"{key}."):
                best = number
    return best


def _plain(key: str) -> str:
    return re.sub(r"\s*\.\s*", ".", key).replace('"', "").replace("'", "")


_TOKEN = re.compile(r'"""|\'\'\'|"(?:\\.|[^"\\])*"|\'[^\']*\'|#.*|[\[\]{}]')
_END_OF_TEXT = {'"""': re.compile(r'(?:\\.|[^\\])*?"""'), "'''": re.compile(r".*?'''")}
_DEPTH = {"[": 1, "{": 1, "]": -1, "}": -1}


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Lines that begin something; not those inside a text of several lines, or inside a list."""
    quote, depth = "", 0
    for number, line in enumerate(text.split("\n"), 1):
        if not quote and depth <= 0:
            depth = 0
            yield number, line
        quote, depth = _after(line, quote, depth)


def _after(line: str, quote: str, depth: int) -> tuple[str, int]:
    """Which text is open at the line's end, and how many brackets are."""
    place = 0
    while True:
        if quote:
            end = _END_OF_TEXT[quote].match(line, place)
            if end is None:
                return quote, depth
            place, quote = end.end(), ""
        token = _TOKEN.search(line, place)
        if token is None:
            return quote, depth
        place = token.end()
        quote = token[0] if token[0] in _END_OF_TEXT else ""
        depth += _DEPTH.get(token[0], 0)
