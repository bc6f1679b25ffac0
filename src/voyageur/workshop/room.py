"""A folder to work in, on the quickest disk there is, gone when the work is done."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from voyageur.errors import RunError

_OURS = re.compile(r"voy-env-(\d+)-(\d+)-\w+")


def fast_folder(environment: Mapping[str, str]) -> str:
    """The job's own disk, else that of this machine: thousands of small files never touch shared storage."""
    named = [environment.get(name) for name in ("SLURM_TMPDIR", "VOY_TMP", "TMPDIR")]
    return next((path for path in named if path and os.path.isdir(path)), tempfile.gettempdir())


@contextlib.contextmanager
def work_folder(environment: Mapping[str, str]) -> Iterator[Path]:
    place = fast_folder(environment)
    _sweep(place)
    try:
        folder = Path(tempfile.mkdtemp(prefix=f"voy-env-{os.getuid()}-{os.getpid()}-", dir=place))
    except OSError as problem:
        hint = "name another folder with TMPDIR"
        raise RunError(f"there is no place to work in: {problem.strerror}", facts=[place], hint=hint) from None
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _sweep(place: str) -> None:
    """What a process of this user that was killed on this machine has left."""
    for name in os.listdir(place):
        match = _OURS.fullmatch(name)
        if match and int(match[1]) == os.getuid() and not os.path.exists(f"/proc/{match[2]}"):
            shutil.rmtree(os.path.join(place, name), ignore_errors=True)
