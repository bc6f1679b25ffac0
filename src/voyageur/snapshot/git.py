"""Which files git knows, and in its own words why it does not say."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import NamedTuple


class Listing(NamedTuple):
    """`names` is None when git gave no answer; `words` are what it said on the side."""

    names: list[str] | None
    words: str = ""


def list_files(root: Path, *which: str) -> Listing:
    try:
        answer = subprocess.run(["git", "ls-files", "-z", *which], cwd=root, capture_output=True, check=False)
    except OSError as problem:
        return Listing(None, f"git cannot be started: {problem.strerror}")
    words = " ".join(answer.stderr.decode("utf-8", "replace").split())
    if answer.returncode != 0:
        return Listing(None, words or f"git ended with {answer.returncode}")
    return Listing([os.fsdecode(name) for name in answer.stdout.split(b"\0") if name], words)


def has_repository(root: Path) -> bool:
    """Whether somebody keeps this folder in git; then what git has to say matters."""
    return any(os.path.lexists(folder / ".git") for folder in (root, *root.parents))
