"""Styles whose packages are too large for `make test`, and whether their files are those that last passed everywhere.

`make test-launchers` writes that down when all of it has passed. `make test` runs those that have changed since.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from tests.launchers.environments import PACKAGES

# Horovod is not among them: it has to be built, for minutes on two cores.
LARGE = ("deepspeed", "spark", "tensorflow")
ROOT = Path(__file__).parents[2]
PROVEN = Path(__file__).with_name("proven.json")


def digest(style: str) -> str:
    """Of its own file, its example, and the packages that it runs with."""
    example = sorted(path for path in (ROOT / "examples" / style).iterdir() if path.suffix in (".py", ".toml"))
    found = hashlib.sha256(" ".join(PACKAGES[style]).encode())
    for path in (ROOT / "src" / "voyageur" / "launch" / f"{style}.py", *example):
        found.update(path.read_bytes())
    return found.hexdigest()


def is_proven(style: str) -> bool:
    return bool(json.loads(PROVEN.read_text()).get(style) == digest(style))


if __name__ == "__main__":
    PROVEN.write_text(json.dumps({style: digest(style) for style in LARGE}, indent=2) + "\n")
