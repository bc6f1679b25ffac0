"""How old a fact is, in the one unit that matters."""

from __future__ import annotations

from datetime import date

_UNITS = (("year", 730, 365.25), ("month", 60, 30.44), ("week", 14, 7.0), ("day", 1, 1.0))  # from so many days on


def days_since(text: str, today: date) -> int | None:
    """None for what is no date: an own profile may say anything. `2026-04` is its first day."""
    try:
        return (today - date.fromisoformat(text if len(text) > len("2026-04") else f"{text}-01")).days
    except ValueError:
        return None


def in_words(days: int | None) -> str:
    if days is None:
        return "not known"
    for unit, least, length in _UNITS:
        if days >= least:
            count = int(days / length)
            return f"{count} {unit}{'' if count == 1 else 's'}"
    return "today"
