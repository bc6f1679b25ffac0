"""`voy site`: clusters, what is known of them, and what this one is."""

from __future__ import annotations

import click

from voyageur.commands.lazy import Lazy
from voyageur.show.output import emit

SUBVERBS = {
    "list": "all profiles: in production or retired, and how old their facts are",
    "show": "one page about a cluster",
    "accounts": "what may be charged, fair shares, and which one a plan would choose",
    "detect": "which cluster this machine is, and by which signs",
    "probe": "what this cluster says of itself, beside its profile",
}


@click.group("site", cls=Lazy, verbs=SUBVERBS, prefix="site_", called="subverb", invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> None:
    """Clusters: what is known of them, and what this one is."""
    if context.invoked_subcommand is None:
        emit(context.get_help())
