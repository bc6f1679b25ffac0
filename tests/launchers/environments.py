"""Virtual environments with the heavy packages, made once below `build/launchers` and kept."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "build" / "launchers"
PACKAGES = {
    "torch": ("torch==2.13.0", "numpy", "lightning", "accelerate"),
    "trainers": ("torch==2.13.0", "numpy", "keras", "transformers", "accelerate"),
    "deepspeed": ("torch==2.13.0", "numpy", "deepspeed", "ninja"),
    "dask": ("dask[distributed]",),
    "mpi": ("mpi4py", "mpich"),
    "jax": ("jax", "numpy"),
    "spark": ("pyspark",),
    "ray": ("ray",),
    "tensorflow": ("tensorflow-cpu",),
}
EVERYTHING = bool(os.environ.get("VOYAGEUR_LAUNCHERS"))


def environment(name: str) -> Path:
    """Its folder; several workers may ask at once. Where pip cannot get the packages, the test is skipped."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    place, stamp = FOLDER / name, FOLDER / name / "voyageur-test"
    wanted = "\n".join(PACKAGES[name])
    with open(FOLDER / f".{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (stamp.is_file() and stamp.read_text() == wanted):
            _make(place, name)
            stamp.write_text(wanted)
    return place


def _make(place: Path, name: str) -> None:
    subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
    pip = [str(place / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    answer = subprocess.run([*pip, *PACKAGES[name]], capture_output=True, text=True, check=False)
    if answer.returncode:
        reason = f"pip cannot install {' '.join(PACKAGES[name])}: {answer.stderr.strip().splitlines()[-1:]}"
        if EVERYTHING:
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)
