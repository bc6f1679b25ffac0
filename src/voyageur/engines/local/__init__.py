"""The same script on one machine without Slurm. It runs our scripts; it is not a scheduler."""

from voyageur.engines.local.engine import LocalEngine

__all__ = ["LocalEngine"]
