"""Datasets as users name them: a path, or a path and how it comes to the nodes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import Any

from msgspec import Struct

STAGES = {
    "index": "the program starts at once and reads through; what has arrived comes from the node's disk",
    "unpack": "an archive, unpacked on the node before the program starts",
    "mount": "an image or a zip, mounted on the node",
    "copy": "as it is, whole on the node before the program starts",
    "none": "stays on shared storage",
}


class Dataset(Struct, frozen=True, kw_only=True):
    """`stage` None: by what it is. `at`: where below the node's temp folder older programs look for it."""

    from_: str
    stage: str | None = None
    at: str = ""


def datasets(value: Any) -> dict[str, Dataset]:
    if not isinstance(value, dict):
        raise ValueError("a table of names and paths is wanted")
    return {_name(name): _dataset(name, item) for name, item in value.items()}


def listed(paths: Iterable[str]) -> dict[str, Dataset]:
    """As the older scripts had it: each under its own path, named after its last part."""
    found: dict[str, Dataset] = {}
    for path in paths:
        plain = PurePosixPath(_path(path))
        if plain.is_absolute() or ".." in plain.parts:
            raise ValueError(f"{path} must lie below the project's place on scratch; [data] takes any path")
        name = _name(re.sub(r"[^A-Za-z0-9_-]+", "-", plain.name.partition(".")[0]).strip("-_") or "data")
        if name in found:
            raise ValueError(f"{found[name].from_} and {path} would both be called `{name}`; name them under [data]")
        found[name] = Dataset(from_=path, stage="copy", at=str(plain))
    return found


def _dataset(name: str, item: Any) -> Dataset:
    if isinstance(item, Dataset):
        return item
    if isinstance(item, str):
        return Dataset(from_=_path(item))
    if not isinstance(item, dict) or "from" not in item:
        raise ValueError(f'`{name}` is a path, or a table like {{ from = "datasets/x.tar", stage = "copy" }}')
    if more := sorted(set(item) - {"from", "stage"}):
        raise ValueError(f"`{name}` has `{more[0]}`, and only `from` and `stage` are known")
    stage = item.get("stage")
    if stage is not None and stage not in STAGES:
        raise ValueError(f"`{name}` has the stage {stage!r}, which is none of {', '.join(STAGES)}")
    return Dataset(from_=_path(item["from"]), stage=stage)


def _name(name: Any) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", str(name)):
        raise ValueError(f"{name!r} is no name for a dataset: letters, digits, '_' and '-', at most 64")
    return str(name)


def _path(path: Any) -> str:
    if not isinstance(path, str) or not path.strip():
        raise ValueError(f"a path is wanted, not {path!r}")
    if any(ord(letter) < 32 or ord(letter) == 127 for letter in path):
        raise ValueError(f"the path {path!r} holds a line break or another control character")
    return path
