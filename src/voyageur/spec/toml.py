"""TOML files as flat keys, each with the line it stands on."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from voyageur.errors import SpecError


def read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as problem:
        raise SpecError(
            f"{file.name} is not valid TOML",
            facts=[f"{file}: {problem}"],
            hint="mend that line; `voy init --print` shows a file that is right",
        ) from None
    except UnicodeDecodeError:
        raise SpecError(f"{file.name} is not UTF-8 text", facts=[str(file)], hint="save it as UTF-8") from None
    except OSError as problem:
        raise SpecError(f"{file.name} cannot be read", facts=[f"{file}: {problem.strerror}"]) from None


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
    for number, line in enumerate(text.splitlines(), 1):
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
