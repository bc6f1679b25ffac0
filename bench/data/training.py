"""Samples per second that come out of a torch loader with two workers: from a pack, and from a folder as ImageFolder
has it. Nothing is decoded, so that what is measured is reading and the loader itself."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from tests.data.trees import packed
from torch.utils.data import DataLoader, Dataset

from bench.data.files import COUNT, FOLDERS, forget, make_files
from bench.data.reading import tell
from voyageur.job import data

_WORKERS = 2
_BATCH = 64
_TAKEN = 1024  # bytes of a sample that go into its tensor
_ROUNDS = 3

Make = Callable[[], Any]


class Plain(Dataset[Any]):  # type: ignore[misc,unused-ignore] # where PyTorch is not installed
    """A class for each folder; the list is made before, as ImageFolder makes it."""

    def __init__(self, root: Path) -> None:
        self._files = [
            (entry.path, number)
            for number, folder in enumerate(sorted(os.listdir(root)))
            for entry in os.scandir(root / folder)
        ]

    def __len__(self) -> int:
        return len(self._files)

    def __getitem__(self, number: int) -> Any:
        path, label = self._files[number]
        with open(path, "rb") as file:
            return _tensor(file.read()), label


def _tensor(content: Any) -> Any:
    return torch.frombuffer(bytearray(content[:_TAKEN]), dtype=torch.uint8)


def _sample(sample: data.Sample) -> Any:
    return _tensor(bytes(sample["jpg"])), int(sample["__key__"][:4])


def training(root: Path) -> None:
    make_files(root / "files", COUNT, FOLDERS)
    packed(root / "files", root / "x.tar")
    sides: list[Make] = [
        lambda: data.torch(root / "x.tar", transform=_sample),
        lambda: Plain(root / "files"),
    ]
    states: dict[str, Callable[[], object]] = {"warm": lambda: True, "cold": forget}
    for state, prepare in states.items():
        if not prepare():
            print("torch loader, cold: not measured, only root may empty the cache")
            continue
        rates: list[list[float]] = [[], []]
        for _ in range(_ROUNDS if state == "warm" else 1):
            for make, found in zip(sides, rates, strict=True):
                prepare()
                found.append(_rate(make()))
        ours, theirs = (statistics.median(found) for found in rates)
        tell(f"torch loader, {_WORKERS} workers, {state}", ours, theirs, "plain files", 1)


def _rate(dataset: Any) -> float:
    loader = DataLoader(dataset, batch_size=_BATCH, shuffle=True, num_workers=_WORKERS)
    begin, count = time.perf_counter(), 0
    for _, labels in loader:
        count += len(labels)
    assert count == COUNT
    return count / (time.perf_counter() - begin)
