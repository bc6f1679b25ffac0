"""A place where commands can be typed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Protocol

from msgspec import Struct

from voyageur.units import Duration


class Answer(Struct, frozen=True, kw_only=True):
    """`code` is None when no answer came in time."""

    code: int | None
    output: str
    errors: str

    @property
    def ok(self) -> bool:
        return self.code == 0


class Host(Protocol):
    def run(
        self, argv: Sequence[str], *, folder: PurePosixPath | None = None, patience: Duration, read: str = ""
    ) -> Answer:
        """Type a command, give it `read` to read, and wait for its answer.

        Raises FileNotFoundError when there is no such command.
        """
        ...

    def environment(self) -> Mapping[str, str]: ...

    def has(self, command: str) -> bool: ...
