"""What is wrong, or could be better, with a wish: one shape for every rule, whoever looks and whoever shows it."""

from __future__ import annotations

import enum

from msgspec import Struct


class Level(enum.Enum):
    """ERROR: the site rejects it, or the job surely fails. WARNING: allowed, but costly, slow or against policy."""

    ERROR = "error"
    WARNING = "warning"
    HINT = "hint"

    @property
    def rank(self) -> int:
        return list(Level).index(self)


class Finding(Struct, frozen=True, kw_only=True):
    """`rule` is the word that `--ignore` takes. `file` counts from the project's root; `line` from 1."""

    rule: str
    level: Level
    what: str
    because: str
    fix: str
    source: str = ""
    file: str | None = None
    line: int | None = None

    @property
    def place(self) -> str:
        if self.file is None:
            return ""
        return f"{self.file}:{self.line}" if self.line else self.file
