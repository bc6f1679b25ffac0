"""Where environments lie that have been made: on scratch, for all projects of a user, named by what they were made of.

KEY.tar or KEY.squashfs    the environment
KEY.tar.sums               digests of its parts
KEY.json                   what is known of it; written last, so that what has it is whole
KEY.log                    how it was made
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from voyageur.env.model import Built
from voyageur.runtime.folder import write_atomically

_FOLDER = ".voyageur/environments"


def environments_folder(scratch: str) -> Path:
    return Path(scratch) / _FOLDER


def record_of(folder: Path, key: str) -> Path:
    return folder / f"{key}.json"


def find_built(folder: Path, key: str) -> Built | None:
    """None when there is none, or when only half of it is there."""
    try:
        built = msgspec.json.decode(record_of(folder, key).read_bytes(), type=Built)
        return built if Path(built.archive).stat().st_size == built.size.bytes else None
    except (OSError, msgspec.MsgspecError):
        return None


def all_built(folder: Path) -> Iterator[Built]:
    for record in sorted(folder.glob("*.json")):
        if built := find_built(folder, record.stem):
            yield built


def write_record(folder: Path, built: Built) -> None:
    write_atomically(str(record_of(folder, built.key)), msgspec.json.format(msgspec.json.encode(built), indent=1))
