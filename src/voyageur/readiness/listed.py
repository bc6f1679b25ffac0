"""Long lists of words, written as people read them."""

from __future__ import annotations


def listed(text: str) -> frozenset[str]:
    return frozenset(text.split())
