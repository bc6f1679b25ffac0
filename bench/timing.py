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


def report(what: str, ours: float, theirs: float, against: str, target: str, met: bool) -> None:
    ratio = f"{ours / theirs:5.1f}x" if theirs else "     -"
    print(f"{what:<44} {ours * 1000:8.1f} ms   {against}: {theirs * 1000:8.1f} ms   {ratio}   "
          f"target {target}: {'met' if met else 'MISSED'}", flush=True)  # fmt: skip
