"""Durations and sizes: as people write them, as Slurm writes them, and nothing in between."""

from __future__ import annotations

import re
from typing import ClassVar

from msgspec import Struct

_WORDS = re.compile(
    r"(\d+(?:\.\d+)?)\s*(days?|d|hours?|hrs?|h|minutes?|mins?|m|seconds?|secs?|s)(?![a-z])", re.IGNORECASE
)
_CLOCK = re.compile(r"(?:(\d+)-)?(\d+)(?::(\d{1,2}))?(?::(\d{1,2}))?")
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT])(?:i?B)?", re.IGNORECASE)

_LONGEST = 30  # letters; no time and no size that anybody means is longer


class UnitError(ValueError):
    """Why a text is no duration or no size; the text itself is named by whoever read it."""


class Duration(Struct, frozen=True, order=True):
    seconds: int

    UNITS: ClassVar[dict[str, int]] = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}

    @classmethod
    def parse(cls, text: str) -> Duration:
        """`3d`, `1d12h`, `90m`, `10min`, `2 hours`; Slurm's `1-12:00:00`, `0-03:00`, `01:30:00`, `30:00` (m:s)."""
        stripped = text.strip()
        if len(stripped) > _LONGEST:
            raise UnitError("not a time: far too long")
        if stripped.startswith("-"):
            raise UnitError("a time cannot be negative")
        if re.fullmatch("0+", stripped):
            raise UnitError("a time must be longer than zero")
        if re.fullmatch(r"\d+", stripped):
            raise UnitError(f"a time needs its unit: write {stripped}m or {stripped}h")
        seconds = _seconds_from_words(stripped)
        if seconds is None:
            seconds = _seconds_from_clock(stripped)
        if seconds is None:
            raise UnitError("not a time: write it like 3d, 24h, 90m or 1-12:00:00")
        if seconds == 0:
            raise UnitError("a time must be longer than zero")
        return cls(seconds)

    def slurm(self) -> str:
        """Slurm counts in minutes; a part of one is rounded up so that nobody gets less than was asked."""
        minutes = -(-self.seconds // 60)
        days, rest = divmod(minutes, 1440)
        return f"{days}-{rest // 60:02}:{rest % 60:02}:00"

    def __str__(self) -> str:
        parts = []
        rest = self.seconds
        for unit, size in self.UNITS.items():
            count, rest = divmod(rest, size)
            if count:
                parts.append(f"{count}{unit}")
        return "".join(parts) or "0s"


class Size(Struct, frozen=True, order=True):
    bytes: int

    UNITS: ClassVar[dict[str, int]] = {"K": 1024, "M": 1024**2, "G": 1024**3, "T": 1024**4}

    @classmethod
    def parse(cls, text: str) -> Size:
        """`32000M`, `118GB`, `10G`, `1.5T`: as in Slurm, a G is 1024 M whichever way it is spelled."""
        stripped = text.strip()
        if len(stripped) > _LONGEST:
            raise UnitError("not a size: far too long")
        if stripped.startswith("-"):
            raise UnitError("a size cannot be negative")
        if re.fullmatch(r"0+(\.0+)?", stripped):
            raise UnitError("a size must be larger than zero")
        if re.fullmatch(r"\d+(\.\d+)?", stripped):
            raise UnitError(f"a size needs its unit: write {stripped}M or {stripped}G")
        match = _SIZE.fullmatch(stripped)
        if not match:
            raise UnitError("not a size: write it like 32000M, 10G or 1.5T")
        amount = int(float(match[1]) * cls.UNITS[match[2].upper()])
        if amount == 0:
            raise UnitError("a size must be larger than zero")
        return cls(amount)

    @classmethod
    def of_mebibytes(cls, count: int) -> Size:
        return cls(count * cls.UNITS["M"])

    @property
    def mebibytes(self) -> int:
        return self.bytes // self.UNITS["M"]

    def slurm(self) -> str:
        """Rounded up to whole mebibytes: `--mem=0M` would mean all the memory of the node."""
        return f"{-(-self.bytes // self.UNITS['M'])}M"

    def __str__(self) -> str:
        for unit in ("T", "G", "M"):
            size = self.UNITS[unit]
            if self.bytes >= size and self.bytes % size == 0:
                return f"{self.bytes // size}{unit}"
        return next(
            (
                f"{self.bytes / self.UNITS[unit]:.1f}{unit}"
                for unit in ("T", "G", "M", "K")
                if self.bytes >= self.UNITS[unit]
            ),
            f"{self.bytes}B",
        )


def _seconds_from_words(text: str) -> int | None:
    compact = text.replace(" ", "")
    if not re.fullmatch(f"(?:{_WORDS.pattern})+", compact, re.IGNORECASE):
        return None
    return int(sum(float(count) * Duration.UNITS[unit[0].lower()] for count, unit in _WORDS.findall(compact)))


def _seconds_from_clock(text: str) -> int | None:
    match = _CLOCK.fullmatch(text)
    if not match or (match[1] is None and match[3] is None):
        return None
    first, second, third = int(match[2]), int(match[3] or 0), int(match[4] or 0)
    if match[1] is not None:
        return int(match[1]) * 86_400 + first * 3_600 + second * 60 + third
    if match[4] is not None:
        return first * 3_600 + second * 60 + third
    return first * 60 + second


def counted(count: int, noun: str) -> str:
    """`1 package`, `1,200 packages`"""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
