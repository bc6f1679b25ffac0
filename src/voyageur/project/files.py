"""The project's files, walked once and quickly: no hidden folders, no virtual environments, no end of data."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from voyageur.snapshot.select import NEVER

_MOST_FILES = 5_000  # a project's programs are found long before; a dataset of a million files is not walked
_DEEPEST = 4
_LONGEST_TEXT = 512 * 1024


class Tree:
    """File names relative to the project, those near its root first."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.names = tuple(sorted(_walk(root), key=lambda name: (name.count("/"), name)))

    def ending(self, *ends: str) -> list[str]:
        return [name for name in self.names if name.endswith(ends)]

    def text(self, name: str) -> str:
        """Empty when it is no file, cannot be read, or is too long for a program. A pipe would be waited for."""
        path = self.root / name
        try:
            if not path.is_file() or path.stat().st_size > _LONGEST_TEXT:
                return ""
            return path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""


def _walk(root: Path) -> Iterator[str]:
    waiting, seen = [("", 0)], 0
    while waiting:
        prefix, depth = waiting.pop(0)
        for entry in _entries(root / prefix):
            if _is_folder(entry):
                if depth < _DEEPEST and not _is_foreign(entry):
                    waiting.append((f"{prefix}{entry.name}/", depth + 1))
            elif entry.name.isprintable() and _is_file(entry):
                yield f"{prefix}{entry.name}"
                seen += 1
                if seen >= _MOST_FILES:
                    return


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _is_file(entry: os.DirEntry[str]) -> bool:
    """Itself or behind a link: a pipe or a device that is called main.py is no program."""
    try:
        return entry.is_file()
    except OSError:
        return False


def _is_foreign(entry: os.DirEntry[str]) -> bool:
    """Hidden, made by a tool, or a virtual or conda environment, whatever its name."""
    if entry.name.startswith(".") or entry.name in NEVER or entry.name in ("site-packages", "build", "dist"):
        return True
    return os.path.exists(os.path.join(entry.path, "pyvenv.cfg")) or os.path.isdir(
        os.path.join(entry.path, "conda-meta")
    )
