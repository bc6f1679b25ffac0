"""Who runs the script: Slurm, or this machine."""

from voyageur.engines.model import Engine, Sought

__all__ = ["Engine", "Sought"]
