"""Bytes and numbers of files as the tools of clusters print them: `20GiB`, `280 kB`, `9.2T*`, `208K`, `unlimited`.

A G counts as 1024 M however it is spelled: what a tool calls GB is now this and now that, and what matters is which
part of a limit is used; both sides of that are printed by the same tool.
"""

from __future__ import annotations

import re

from voyageur.units import Size

AMOUNT = r"\d+(?:\.\d+)?\s*(?:[kKMGTP]i?B?|B(?:ytes?)?)?|unlimited|none|inf|-"
_AMOUNT = re.compile(r"\[?(\d+(?:\.\d+)?)\s*([kKMGTPE]?)(?:i?B|Bytes?)?\]?\*?\]?", re.IGNORECASE)
_POWERS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5, "E": 6}


def is_amount(text: str) -> bool:
    return _AMOUNT.fullmatch(text.strip()) is not None


def size_from(text: str, unit: str = "") -> Size | None:
    """None for `-` and `unlimited`. `unit` is what a bare number counts in."""
    match = _AMOUNT.fullmatch(text.strip())
    if not match:
        return None
    return Size(round(float(match[1]) * 1024 ** _POWERS[(match[2] or unit).upper()]))


def count_from(text: str) -> int | None:
    """Numbers of files go by thousands: `208K` is 208,000."""
    match = _AMOUNT.fullmatch(text.strip())
    return round(float(match[1]) * 1000 ** _POWERS[match[2].upper()]) if match else None


def limit_from(size: Size | None) -> Size | None:
    """All tools say zero where there is no limit."""
    return size if size and size.bytes else None
