"""Environments, made once as one file, and put on every node's own disk."""

from voyageur.env.model import Built, Form

__all__ = ["Built", "Form"]
