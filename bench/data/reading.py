"""Random members per second, against what people train from today. Copies against copies, views against buffers."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import h5py
import lmdb
import numpy as np
import webdataset
from tests.data.trees import packed

from bench.data.files import COUNT, FOLDERS, forget, make_files
from voyageur.job import data
from voyageur.job.data import Pack

_ROUNDS = 5

Read = Callable[[int], object]


def read(root: Path) -> None:
    files = root / "files"
    make_files(files, COUNT, FOLDERS)
    packed(files, root / "x.tar")
    pack = data.open(root / "x.tar")
    paths = [str(files / name) for name in pack.names]
    order = list(range(COUNT))
    random.Random(1).shuffle(order)
    _cold(root, paths, order)
    _warm(root, pack, paths, order)
    _first_sample(root)


def _plain(path: str) -> bytes:
    with open(path, "rb", buffering=0) as file:
        return file.read()


def _cold(root: Path, paths: Sequence[str], order: Sequence[int]) -> None:
    if not forget():
        print("random reads, cold: not measured, only root may empty the cache")
        return
    theirs = _rate(lambda number: _plain(paths[number]), order)
    forget()
    ours = _rate(data.open(root / "x.tar").read, order)
    _tell("a whole epoch, cold", ours, theirs, "plain files", 20)


def _warm(root: Path, pack: Pack, paths: Sequence[str], order: Sequence[int]) -> None:
    table = _hdf5(root / "x.h5", pack)
    environment, keys = _lmdb(root / "x.lmdb", pack)
    with environment.begin() as copies, environment.begin(buffers=True) as buffers:
        sides: list[Read] = [
            pack.read,
            lambda number: _plain(paths[number]),
            lambda number: table[number].tobytes(),
            lambda number: copies.get(keys[number]),
            pack.view,
            lambda number: buffers.get(keys[number]),
        ]
        ours, plain, hdf5, copied, viewed, buffered = _in_turn(sides, order)
    _tell("random reads, warm", ours, plain, "plain files", 4)
    _tell("random reads, copies", ours, hdf5, "h5py, variable length", 20)
    _tell("random reads, copies", ours, copied, "LMDB", 1)
    _tell("random reads, views", viewed, buffered, "LMDB, buffers", 1)
    _tell("random reads, copies", ours, _webdataset(root / "x.tar"), "WebDataset in sequence", 8)


def _in_turn(sides: Sequence[Read], order: Sequence[int]) -> list[float]:
    """The best of several rounds would flatter, the mean would not forgive: the median."""
    rates: list[list[float]] = [[] for _ in sides]
    for _ in range(_ROUNDS):
        for side, found in zip(sides, rates, strict=True):
            found.append(_rate(side, order))
    return [statistics.median(found) for found in rates]


def _rate(side: Read, order: Sequence[int]) -> float:
    begin = time.perf_counter()
    for number in order:
        side(number)
    return len(order) / (time.perf_counter() - begin)


def _hdf5(path: Path, pack: Pack) -> Any:
    with h5py.File(path, "w") as file:
        table = file.create_dataset("x", (len(pack),), dtype=h5py.vlen_dtype(np.uint8))
        for number in range(len(pack)):
            table[number] = np.frombuffer(pack.view(number), np.uint8)
    return h5py.File(path, "r")["x"]


def _lmdb(path: Path, pack: Pack) -> tuple[Any, list[bytes]]:
    keys = [name.encode() for name in pack.names]
    environment = lmdb.open(str(path), map_size=4 << 30)
    with environment.begin(write=True) as writing:
        for number, key in enumerate(keys):
            writing.put(key, pack[number])
    environment.close()
    return lmdb.open(str(path), readonly=True, lock=False, readahead=False), keys


def _webdataset(archive: Path) -> float:
    begin = time.perf_counter()
    count = sum(1 for _ in webdataset.WebDataset(str(archive), shardshuffle=False))
    return count / (time.perf_counter() - begin)


def _first_sample(root: Path) -> None:
    begin = time.perf_counter()
    data.open(root / "x.tar").read(COUNT // 2)
    spent = time.perf_counter() - begin
    print(f"{'opened, and one member read':<44} {spent * 1000:8.1f} ms")


def _tell(what: str, ours: float, theirs: float, against: str, target: float) -> None:
    met = "met" if ours >= target * theirs else "MISSED"
    print(f"{what:<44} {ours:9,.0f}/s   {against}: {theirs:9,.0f}/s   {ours / theirs:5.1f}x   "
          f"target {target}x: {met}", flush=True)  # fmt: skip
