"""Standard output: text that any terminal takes, or one JSON document and nothing else."""

from __future__ import annotations

import sys
from typing import Any

import msgspec


def emit(text: str) -> None:
    sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace") + b"\n")
    sys.stdout.buffer.flush()


def emit_json(document: Any) -> None:
    sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(_valid(document)), indent=2) + b"\n")
    sys.stdout.buffer.flush()


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
    """For people who watch; not part of the answer."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()
