"""Voyageur carries a program that works on your machine to a Slurm cluster, and brings the results home."""

import os

if "VOY_RUN_DIR" in os.environ:
    # Inside a run this package is found in runtime.pyz; an installed Voyageur must stay importable beside it.
    from pkgutil import extend_path

    __path__ = extend_path(__path__, __name__)

__version__ = "0.1.0"
