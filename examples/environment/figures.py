"""Fits a line through noisy points; numpy comes from the run's own environment."""

import importlib.metadata
import os
import sys

import numpy as np


def main() -> None:
    where = "from the run's environment" if np.__file__.startswith(f"{sys.prefix}/") else f"from {np.__file__}"
    node, version = os.environ["SLURMD_NODENAME"], importlib.metadata.version("numpy")
    generator = np.random.default_rng(1)
    x = np.linspace(0, 1, 10_000)
    y = 3 * x - 1 + generator.normal(scale=0.1, size=x.size)
    slope, start = np.polyfit(x, y, 1)
    print(f"{node}: numpy {version} {where}: y = {slope:.2f} x {start:+.2f}", flush=True)


if __name__ == "__main__":
    main()
