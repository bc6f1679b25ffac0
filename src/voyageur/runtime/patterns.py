"""Patterns of files: a name anywhere, a last part of a path, or from the top with `/` in front."""

import fnmatch
import re
from functools import lru_cache
from typing import Pattern, Sequence

_ANY_FOLDERS = {"**/": "(?:.*/)?", "**": ".*"}


def matches(name: str, patterns: Sequence[str]) -> bool:
    """A pattern names a file, a folder with all below it, or a last part of either."""
    return any(expression(pattern).fullmatch(name) for pattern in patterns)


def plain(pattern: str) -> str:
    """Without the dot in front and the slashes around it."""
    return re.sub(r"^(?:\./+)+", "", pattern).strip("/")


@lru_cache(None)
def expression(pattern: str) -> "Pattern[str]":
    anywhere = "" if pattern.startswith("/") else "(?:.*/)?"
    parts = re.split(r"(\*\*/|\*\*)", plain(pattern))
    body = "".join(_ANY_FOLDERS.get(part) or _glob(part) for part in parts)
    return re.compile("%s%s(?:/.*)?" % (anywhere, body), re.DOTALL)


def _glob(pattern: str) -> str:
    """What fnmatch makes of it, without the end that it adds."""
    return re.sub(r"\\[Zz]$", "", fnmatch.translate(pattern))
