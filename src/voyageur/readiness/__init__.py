"""Is a project ready for a cluster? Reads its files, runs nothing."""

from voyageur.readiness.look import in_order, look
from voyageur.readiness.requirements import Requirement, requirements_of

__all__ = ["Requirement", "in_order", "look", "requirements_of"]
