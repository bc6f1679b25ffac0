"""Many files read at once: by one process, or by as many as there are cores when there is much to read."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path

from voyageur.readiness.model import Module
from voyageur.readiness.sources import read_files

_WORTH_PROCESSES = 600_000  # bytes; below that one process has read it all before two have started


class Readers:
    def __init__(self, root: Path) -> None:
        self._root = root
        self._pool: ProcessPoolExecutor | None = None
        self._cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

    def __enter__(self) -> Readers:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool:
            self._pool.shutdown()

    def read(self, files: Sequence[str]) -> list[Module]:
        weights = {file: _size(self._root / file) for file in files}
        if self._cores < 2 or len(files) < 2 or sum(weights.values()) < _WORTH_PROCESSES:
            return read_files(self._root, files)
        try:
            return self._read_together(_shares(weights, 4 * self._cores))
        except (OSError, BrokenProcessPool):  # login nodes count their users' processes, and end some
            self._cores = 1
            return read_files(self._root, files)

    def _read_together(self, shares: list[list[str]]) -> list[Module]:
        if self._pool is None:
            self._pool = ProcessPoolExecutor(self._cores, mp_context=get_context("fork"))
        answers = self._pool.map(read_files, [self._root] * len(shares), shares)
        return [module for answer in answers for module in answer]


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _shares(weights: dict[str, int], count: int) -> list[list[str]]:
    """About equally heavy."""
    shares: list[tuple[int, list[str]]] = [(0, []) for _ in range(count)]
    for file in sorted(weights, key=lambda name: -weights[name]):
        weight, share = min(shares, key=lambda each: each[0])
        share.append(file)
        shares[shares.index((weight, share))] = (weight + weights[file], share)
    return [share for _, share in shares if share]
