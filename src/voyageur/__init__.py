"""Voyageur carries a program that works on your machine to a Slurm cluster, and brings the results home."""

from pkgutil import extend_path

# Inside a run this package is found in the run's runtime.pyz; an installed Voyageur must stay importable beside it.
__path__ = extend_path(__path__, __name__)

__version__ = "0.1.0"
