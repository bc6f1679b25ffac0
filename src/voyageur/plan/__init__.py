"""spec + site -> Plan: every decision, each with its reason. Pure."""

from voyageur.plan.document import document
from voyageur.plan.identity import draw_identity, folder_name
from voyageur.plan.make import experiment_of, folders_for, make_plan, slug_for
from voyageur.plan.model import (
    Chain,
    Choice,
    Directive,
    Export,
    Folders,
    FrozenCode,
    Identity,
    Plan,
    Queue,
    Shape,
    Surroundings,
)

__all__ = [
    "Chain",
    "Choice",
    "Directive",
    "Export",
    "Folders",
    "FrozenCode",
    "Identity",
    "Plan",
    "Queue",
    "Shape",
    "Surroundings",
    "document",
    "draw_identity",
    "experiment_of",
    "folder_name",
    "folders_for",
    "make_plan",
    "slug_for",
]
