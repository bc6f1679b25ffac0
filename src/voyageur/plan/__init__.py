"""spec + site -> Plan: every decision, each with its reason. Pure."""

from voyageur.plan.account import (
    choose_account,
    decide_account,
    fair_share_text,
    fitting_accounts,
    spelled,
    what_is_left,
)
from voyageur.plan.cost import decide_cost
from voyageur.plan.document import document
from voyageur.plan.identity import draw_identity, folder_name
from voyageur.plan.make import experiment_of, folders_for, make_plan, slug_for
from voyageur.plan.model import (
    Cargo,
    Chain,
    Choice,
    Container,
    Cost,
    Directive,
    Export,
    Folders,
    FrozenCode,
    Identity,
    Plan,
    Queue,
    Seen,
    SeenImage,
    Shape,
    Surroundings,
    Waited,
)

__all__ = [
    "Cargo",
    "Chain",
    "Choice",
    "Container",
    "Cost",
    "Directive",
    "Export",
    "Folders",
    "FrozenCode",
    "Identity",
    "Plan",
    "Queue",
    "Seen",
    "SeenImage",
    "Shape",
    "Surroundings",
    "Waited",
    "choose_account",
    "decide_account",
    "decide_cost",
    "document",
    "draw_identity",
    "experiment_of",
    "fair_share_text",
    "fitting_accounts",
    "folder_name",
    "folders_for",
    "make_plan",
    "slug_for",
    "spelled",
    "what_is_left",
]
