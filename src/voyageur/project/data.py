"""Folders and files that should stay where they are when the code travels."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from voyageur.snapshot.select import DATA, NEVER
from voyageur.units import Size

_NAMES = re.compile(
    r"(raw_?)?(data|datasets?|images|checkpoints?|ckpts?|weights|models|outputs?|results|runs|logs|mlruns|lightning_logs)",
    re.IGNORECASE,
)
_MUCH = Size(10 * 1024**2)
_MANY = 1_000
_ENOUGH = 20_000  # files counted in one folder; more only makes the reason longer
_LARGE_FILE = Size(20 * 1024**2)


class Heavy(NamedTuple):
    name: str
    because: str


def find_data(root: Path) -> Iterator[Heavy]:
    try:
        entries = sorted(os.scandir(root), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if entry.name.startswith(".") or entry.name in NEVER or not entry.name.isprintable():
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from _folder(entry)
        elif entry.is_file(follow_symlinks=False) and entry.stat().st_size >= _LARGE_FILE.bytes:
            yield Heavy(entry.name, str(_rounded(entry.stat().st_size)))


def _folder(entry: os.DirEntry[str]) -> Iterator[Heavy]:
    if os.path.exists(os.path.join(entry.path, "pyvenv.cfg")):
        return
    files, size, code, data = _weigh(entry.path)
    looks = bool(_NAMES.fullmatch(entry.name)) or data * 2 > files
    # A package that is called `data` holds programs, and they must travel.
    if looks and not code and (size >= _MUCH.bytes or files >= _MANY):
        more = "more than " if files >= _ENOUGH else ""
        yield Heavy(entry.name, f"{more}{files} {'file' if files == 1 else 'files'}, {_rounded(size)}")


def _weigh(folder: str) -> tuple[int, int, int, int]:
    """Files, bytes, programs and data files below a folder, as far as it takes to know that it is large."""
    files = size = code = data = 0
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            try:
                size += os.lstat(os.path.join(place, name)).st_size
            except OSError:
                continue
            files += 1
            code += name.endswith((".py", ".sh", ".jl", ".R"))
            data += name.lower().endswith(DATA)
            if files >= _ENOUGH:
                return files, size, code, data
    return files, size, code, data


def _rounded(count: int) -> Size:
    unit = next(unit for unit in (1024**4, 1024**3, 1024**2, 1024, 1) if count >= unit or unit == 1)
    return Size(count // unit * unit)
