"""`voy env`: the packages of a project, made once as one file."""

from __future__ import annotations

import click

from voyageur.commands.lazy import Lazy
from voyageur.show.output import emit

SUBVERBS = {
    "lock": "find out every package, and write each with its version and digest into a lock",
    "build": "make the environment of the lock, once, as one file",
    "show": "which there are, what is in them, and which runs use them",
    "prune": "remove those that nothing needs any more",
}


@click.group("env", cls=Lazy, verbs=SUBVERBS, prefix="env.", called="subverb", invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> None:
    """The packages that a program needs: locked, made once as one file, and put on every node's own disk."""
    if context.invoked_subcommand is None:
        emit(context.get_help())
