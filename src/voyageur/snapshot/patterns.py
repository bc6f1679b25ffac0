"""Patterns of files: a name anywhere, a last part of a path, or from the project's top with `/` in front."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Collection
from functools import cache
from pathlib import Path

_ANY_FOLDERS = {"**/": "(?:.*/)?", "**": ".*"}


def matches(name: str, patterns: tuple[str, ...]) -> bool:
    """A pattern names a file, a folder with all below it, or a last part of either."""
    return any(_expression(pattern).fullmatch(name) for pattern in patterns)


def plain(pattern: str) -> str:
    """Without the dot in front and the slashes around it."""
    return re.sub(r"^(?:\./+)+", "", pattern).strip("/")


@cache
def _expression(pattern: str) -> re.Pattern[str]:
    anywhere = "" if pattern.startswith("/") else "(?:.*/)?"
    parts = re.split(r"(\*\*/|\*\*)", plain(pattern))
    body = "".join(_ANY_FOLDERS.get(part) or _glob(part) for part in parts)
    return re.compile(f"{anywhere}{body}(?:/.*)?", re.DOTALL)


def _glob(pattern: str) -> str:
    """What fnmatch makes of it, without the end that it adds."""
    return re.sub(r"\\[Zz]$", "", fnmatch.translate(pattern))


def useless(patterns: tuple[str, ...], names: Collection[str], root: Path) -> list[str]:
    """Those that match nothing. A folder that git ignores anyway, or that is always left out, is there all the same."""
    return [
        pattern
        for pattern in patterns
        if not any(_expression(pattern).fullmatch(name) for name in names) and not _is_there(root, pattern)
    ]


def _is_there(root: Path, pattern: str) -> bool:
    if "**" in pattern or not plain(pattern):  # that would look through all there is
        return False
    try:
        return next(iter(root.glob(plain(pattern))), None) is not None
    except (ValueError, NotImplementedError, OSError):  # what pathlib cannot read as a pattern of its own
        return False
