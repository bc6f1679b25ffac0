"""A run's results, carried on to where somebody wants them: found, compared with their manifest, never half there."""

from voyageur.haul.carry import Carried, carry
from voyageur.haul.find import Bundle, Item, checkpoints_of, find_bundles

__all__ = ["Bundle", "Carried", "Item", "carry", "checkpoints_of", "find_bundles"]
