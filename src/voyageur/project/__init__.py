"""What a folder shows of a project that has no voyageur.toml yet; and the file that says so. Runs nothing."""

from voyageur.project.document import document
from voyageur.project.look import look
from voyageur.project.model import Finding, Found

__all__ = ["Finding", "Found", "document", "look"]
