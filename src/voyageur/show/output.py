"""Standard output: text that any terminal takes, or one JSON document and nothing else."""

from __future__ import annotations

import contextlib
import sys
from typing import Any

import msgspec

from voyageur.errors import VoyageurError


class OutputError(VoyageurError):
    """The answer is known, but cannot be written: a full disk, most often."""

    def __init__(self, problem: OSError) -> None:
        hint = "make room, or send it elsewhere"
        super().__init__("the output cannot be written", facts=[problem.strerror or str(problem)], hint=hint)


def write(data: bytes) -> None:
    try:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except OSError as problem:
        raise OutputError(problem) from None


def emit(text: str) -> None:
    write(text.encode("utf-8", "backslashreplace") + b"\n")


def emit_json(document: Any) -> None:
    write(msgspec.json.format(msgspec.json.encode(_valid(document)), indent=2) + b"\n")


def _valid(value: Any) -> Any:
    """A file name that is no UTF-8 must not cost the whole document."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {_valid(key): _valid(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_valid(item) for item in value]
    return value


def aside(text: str) -> None:
    """For people who watch; not part of the answer, so a full disk behind it is no reason to fail."""
    with contextlib.suppress(OSError):
        sys.stderr.write(text + "\n")
        sys.stderr.flush()
