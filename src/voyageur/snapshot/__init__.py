"""The code, frozen at submit as one file that is addressed by its content."""

from voyageur.snapshot.archive import Package, gather, store
from voyageur.snapshot.own import OwnFiles, own_files
from voyageur.snapshot.select import LeftOut, Selection

__all__ = ["LeftOut", "OwnFiles", "Package", "Selection", "gather", "own_files", "store"]
