"""Plan -> bash."""

from voyageur.script.render import render

__all__ = ["render"]
