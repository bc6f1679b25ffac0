"""`voy site`: clusters, what is known of them, and what this one is."""

from __future__ import annotations

import click

from voyageur.commands.lazy import Lazy

SUBVERBS = {
    "list": "all profiles: in production or retired, and how old their facts are",
    "show": "one page about a cluster",
    "accounts": "what may be charged, fair shares, and which one a plan would choose",
    "detect": "which cluster this machine is, and by which signs",
    "probe": "what this cluster says of itself, beside its profile",
}

_STORY = """Clusters: what is known of them, and what this one is."""


@click.group("site", cls=Lazy, verbs=SUBVERBS, prefix="site_", called="subverb", help=_STORY)
def command() -> None:
    pass
