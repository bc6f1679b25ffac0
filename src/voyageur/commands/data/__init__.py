"""`voy data`: datasets as single archives."""

from __future__ import annotations

import importlib

import click

from voyageur.show.output import emit

VERBS = {
    "pack": "make one archive with an index of folders full of files",
    "index": "make an index for tars that are there already, without copying them",
    "ls": "list what a pack holds",
    "verify": "read all of a pack and compare its checksums",
    "unpack": "write members back into files",
    "scan": "count the files of a folder, and say what a pack would save",
}


class DataVerbs(click.Group):
    def list_commands(self, _: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, _: click.Context, name: str) -> click.Command | None:
        if name not in VERBS:
            return None
        found: click.Command = importlib.import_module(f"voyageur.commands.data.{name}").command
        return found

    def format_commands(self, _: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Verbs"):
            formatter.write_dl(list(VERBS.items()))


@click.group("data", cls=DataVerbs, invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> None:
    """Datasets as single archives: packed once, read in place, checked, unpacked."""
    if context.invoked_subcommand is None:
        emit(context.get_help())
