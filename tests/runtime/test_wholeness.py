"""Checkpoints of every format people use, cut and damaged at many places: is it seen, without loading them?"""

from __future__ import annotations

import gzip
import io
import json
import os
import pickle
import random
import struct
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from voyageur.job.checkpoint_files import newest_whole
from voyageur.job.wholeness import why_not_whole

numpy = pytest.importorskip("numpy")


def torch_zip() -> bytes:
    """What torch.save writes: an uncompressed zip with a pickle and raw tensors."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("archive/data.pkl", pickle.dumps({"weight": list(range(50))}, protocol=2))
        archive.writestr("archive/data/0", random.Random(1).randbytes(20_000))
        archive.writestr("archive/version", "3\n")
    return buffer.getvalue()


def npz() -> bytes:
    buffer = io.BytesIO()
    numpy.savez(buffer, weight=numpy.arange(3000.0), step=numpy.array(7))
    return buffer.getvalue()


def npy() -> bytes:
    buffer = io.BytesIO()
    numpy.save(buffer, numpy.arange(3000.0).reshape(30, 100))
    return buffer.getvalue()


def safetensors() -> bytes:
    header = json.dumps({"weight": {"dtype": "F32", "shape": [1000], "data_offsets": [0, 4000]}}).encode()
    return struct.pack("<Q", len(header)) + header + bytes(4000)


def hdf5() -> bytes:
    h5py = pytest.importorskip("h5py")
    buffer = io.BytesIO()
    with h5py.File(buffer, "w") as file:
        file["weight"] = numpy.arange(3000.0)
    return buffer.getvalue()


FORMATS: dict[str, Callable[[], bytes]] = {
    "model.pt": torch_zip,
    "model.npz": npz,
    "model.npy": npy,
    "model.safetensors": safetensors,
    "model.h5": hdf5,
    "model.json": lambda: json.dumps({"step": 7, "weights": list(range(500))}).encode(),
    "model.json.gz": lambda: gzip.compress(json.dumps(list(range(5000))).encode()),
    "model.pkl": lambda: pickle.dumps({"weight": b"...." * 800}),  # a dot is a pickle's stop mark
    "pickled.pt": lambda: pickle.dumps([3, {"weight": [0.5] * 300}]),
}
WITH_CHECKSUMS = ("model.pt", "model.npz", "model.json.gz")


def put(path: Path, content: bytes) -> str:
    """Written an hour ago: nothing is waited for."""
    path.write_bytes(content)
    os.utime(path, (time.time() - 3600,) * 2)
    return str(path)


@pytest.mark.parametrize("name", FORMATS)
def test_a_whole_one_is_whole(tmp_path: Path, name: str) -> None:
    assert why_not_whole(put(tmp_path / name, FORMATS[name]())) is None


@pytest.mark.parametrize("name", FORMATS)
def test_one_that_was_cut_anywhere_is_not(tmp_path: Path, name: str) -> None:
    content = FORMATS[name]()
    for length in {0, 1, 7, len(content) - 1, *random.Random(2).sample(range(len(content)), 60)}:
        assert why_not_whole(put(tmp_path / name, content[:length])) is not None, length


@pytest.mark.parametrize("name", WITH_CHECKSUMS)
def test_flipped_bits_are_seen_where_the_format_has_checksums(tmp_path: Path, name: str) -> None:
    content = bytearray(FORMATS[name]())
    middle = range(len(content) // 4, len(content) // 2)
    for place in random.Random(3).sample(middle, 40):
        content[place] ^= 1
        assert why_not_whole(put(tmp_path / name, bytes(content))) is not None, place
        content[place] ^= 1


def test_nothing_is_ever_unpickled(tmp_path: Path) -> None:
    canary = tmp_path / "canary"

    class Trap:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return (os.system, (f"touch {canary}",))

    put(tmp_path / "trap.pkl", pickle.dumps(Trap()))
    put(tmp_path / "trap.pt", pickle.dumps(Trap()))
    assert newest_whole(str(tmp_path), "trap*").newest is not None
    assert not canary.exists()


WRITE_HDF5 = """
import os, signal, sys, h5py, numpy
with h5py.File(sys.argv[1], "w", libver=sys.argv[2]) as file:
    for layer in range(20):
        file.create_group("layer%d" % layer)["weight"] = numpy.zeros(20_000)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("version", ["earliest", "latest"])
def test_an_hdf5_file_that_was_never_closed_is_not_whole(tmp_path: Path, version: str) -> None:
    """It is longer than its own word of its end, which is that of the last flush."""
    pytest.importorskip("h5py")
    path = tmp_path / "model.h5"
    subprocess.run([sys.executable, "-c", WRITE_HDF5, str(path), version], check=False)
    os.utime(path, (time.time() - 3600,) * 2)
    assert path.stat().st_size > 100_000
    assert why_not_whole(str(path)) == "it was never closed"


def test_a_file_that_still_grows_is_not_whole(tmp_path: Path) -> None:
    import threading

    path = tmp_path / "grows.bin"
    path.write_bytes(b"x")
    over = threading.Event()

    def grow() -> None:
        while not over.is_set():
            with open(path, "ab") as file:
                file.write(b"x")
            over.wait(0.05)

    writer = threading.Thread(target=grow)
    writer.start()
    try:
        assert why_not_whole(str(path)) == "it is still being written"
    finally:
        over.set()
        writer.join()


def test_a_folder_is_as_whole_as_its_files(tmp_path: Path) -> None:
    folder = tmp_path / "step-1"
    folder.mkdir()
    assert why_not_whole(str(folder)) == "it is empty"
    put(folder / "rank0.pt", torch_zip())
    assert why_not_whole(str(folder)) is None
    put(folder / "rank1.pt", torch_zip()[:-9])
    assert "rank1.pt" in str(why_not_whole(str(folder)))


def test_the_newest_whole_one_is_chosen_and_the_others_are_named(tmp_path: Path) -> None:
    for number in range(3):
        put(tmp_path / f"e{number}.pt", torch_zip() if number < 2 else torch_zip()[:500])
        os.utime(tmp_path / f"e{number}.pt", (1000 + number,) * 2)
    put(tmp_path / "e9.pt.tmp", b"")
    choice = newest_whole(str(tmp_path), "*.pt")
    assert choice.newest is not None and choice.newest.name == "e1.pt"
    assert [one.name for one, _ in choice.passed_over] == ["e2.pt"]
    assert newest_whole(str(tmp_path / "none"), "*.pt") == (None, [])


def test_a_folder_that_the_trainer_had_not_finished_is_not_whole(tmp_path: Path) -> None:
    """Of Hugging Face: its own state comes last. Folders of others have other names in them."""
    folder = tmp_path / "checkpoint-20"
    folder.mkdir()
    (folder / "optimizer.pt").write_bytes(b"anything")
    assert "trainer_state.json" in str(why_not_whole(str(folder)))
    (folder / "trainer_state.json").write_text("{}")
    assert why_not_whole(str(folder)) is None
