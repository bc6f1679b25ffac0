"""Patterns of files, as the runtime has them too: which of them name nothing here."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from voyageur.runtime.patterns import expression, matches, plain

__all__ = ["matches", "plain", "useless"]


def useless(patterns: tuple[str, ...], names: Collection[str], root: Path) -> list[str]:
    """Those that match nothing. A folder that git ignores anyway, or that is always left out, is there all the same."""
    return [
        pattern
        for pattern in patterns
        if not any(expression(pattern).fullmatch(name) for name in names) and not _is_there(root, pattern)
    ]


def _is_there(root: Path, pattern: str) -> bool:
    if "**" in pattern or not plain(pattern):  # that would look through all there is
        return False
    try:
        return next(iter(root.glob(plain(pattern))), None) is not None
    except (ValueError, NotImplementedError, OSError):  # what pathlib cannot read as a pattern of its own
        return False
