"""Who runs the script: Slurm, or this machine."""

from voyageur.engines.model import Again, Engine, Sought

__all__ = ["Again", "Engine", "Sought"]
