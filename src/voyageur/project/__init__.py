"""What a folder shows of a project that has no voyageur.toml yet; and the file that says so. Runs nothing."""

from voyageur.project.document import document
from voyageur.project.look import look
from voyageur.project.model import Clue, Found

__all__ = ["Clue", "Found", "document", "look"]
