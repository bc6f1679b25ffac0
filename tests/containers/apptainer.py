"""A real Apptainer for tests, fetched once below `build`; and the test image as a SIF file."""

from __future__ import annotations

import fcntl
import os
import subprocess
from pathlib import Path

import pytest

from tests.containers import rootfs

SCRIPT = Path(__file__).with_name("get_apptainer.sh")


def program() -> Path:
    """Its path. Where it cannot be had, the test is skipped with the reason; `make test-launchers` fails instead."""
    place = rootfs.FOLDER / "apptainer"
    place.parent.mkdir(parents=True, exist_ok=True)
    with open(place.parent / ".apptainer.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        answer = subprocess.run(["sh", str(SCRIPT), str(place)], capture_output=True, text=True, check=False)
    if answer.returncode:
        reason = f"Apptainer cannot be had: {answer.stderr.strip().splitlines()[-1:]}"
        if os.environ.get("VOYAGEUR_LAUNCHERS"):
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)
    return place / "bin" / "apptainer"


def sif() -> Path:
    return rootfs.made("image.sif", lambda path: rootfs.run(str(program()), "build", str(path), str(rootfs.folder())))
