"""`voy data`: datasets as single archives."""

from __future__ import annotations

import click

from voyageur.commands.lazy import Lazy
from voyageur.show.output import emit

SUBVERBS = {
    "pack": "make one archive with an index of folders full of files",
    "index": "make an index for tars that are there already, without copying them",
    "ls": "list what a pack holds",
    "verify": "read all of a pack and compare its checksums",
    "unpack": "write members back into files",
    "scan": "count the files of a folder, and say what a pack would save",
}


@click.group("data", cls=Lazy, verbs=SUBVERBS, prefix="data.", called="subverb", invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> None:
    """Datasets as single archives: packed once, read in place, checked, unpacked."""
    if context.invoked_subcommand is None:
        emit(context.get_help())
