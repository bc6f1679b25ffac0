"""Timing whole commands as a user would feel them."""

from __future__ import annotations

import statistics
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path


def seconds(
    argv: Sequence[str], *, environment: Mapping[str, str], folder: Path, times: int = 15, warm: bool = True
) -> float:
    """The median of several runs, after one to warm the caches."""
    spent = []
    for _ in range(times + warm):
        begin = time.perf_counter()
        subprocess.run(argv, env=dict(environment), cwd=folder, check=True, stdout=subprocess.DEVNULL)
        spent.append(time.perf_counter() - begin)
    return statistics.median(spent[warm:])


def seconds_in_turn(
    commands: Sequence[Sequence[str]], *, environment: Mapping[str, str], folder: Path, times: int = 25
) -> list[float]:
    """The median of each, run in turn: whatever else the machine does, it does to all of them."""
    spent: list[list[float]] = [[] for _ in commands]
    for _ in range(times + 1):
        for argv, found in zip(commands, spent, strict=True):
            found.append(seconds(argv, environment=environment, folder=folder, times=1, warm=False))
    return [statistics.median(found[1:]) for found in spent]


def report(what: str, ours: float, theirs: float, against: str, target: str, met: bool) -> None:
    ratio = f"{ours / theirs:5.1f}x" if theirs else "     -"
    print(f"{what:<44} {ours * 1000:8.1f} ms   {against}: {theirs * 1000:8.1f} ms   {ratio}   "
          f"target {target}: {'met' if met else 'MISSED'}", flush=True)  # fmt: skip
