"""Names: of the run, after what it runs; of folders, whatever the user calls things."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import PurePosixPath

from voyageur.plan.model import Identity

_LONGEST = 40


def draw_identity(slug: str) -> Identity:
    return Identity(slug=slug, token=os.urandom(6).hex())


def slug_from(text: str) -> str:
    """A word that is safe in a job's name, a path and a shell."""
    return re.sub(r"[^A-Za-z0-9_]+", "-", text).strip("-")[:_LONGEST].strip("-").lower() or "run"


def slug_of_command(command: Sequence[str]) -> str:
    """`python -m pkg.train --lr 1` and `python src/train.py` are both `train`."""
    for before, word in pairwise(command):
        if before == "-m":
            return slug_from(word.rpartition(".")[2])
        if before == "-c":
            break
        if word.endswith((".py", ".sh", ".jl", ".R")):
            return slug_from(PurePosixPath(word).stem)
    return slug_from(PurePosixPath(command[0]).stem)


def folder_name(text: str) -> str:
    """A folder for a project of any name. Two names that differ never share one."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-.")[:64]
    if plain == text:
        return plain
    return f"{plain or 'project'}-{hashlib.sha256(text.encode('utf-8', 'surrogateescape')).hexdigest()[:6]}"
