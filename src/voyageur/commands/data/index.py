"""`voy data index`: an index for tars that somebody else has made."""

from __future__ import annotations

import os

import click

from voyageur.commands import completing
from voyageur.errors import SpecError
from voyageur.show.output import emit


@click.command("index")
@click.argument("archives", nargs=-1, required=True, metavar="ARCHIVE.tar...", shell_complete=completing.files)
@click.option("-o", "--out", metavar="NAME.tar", help="the name for several archives as one pack")
@click.option("--force", is_flag=True, help="replace an index that is there")
def command(archives: tuple[str, ...], out: str | None, force: bool) -> None:
    """Make an index for tars that are there already. They are read once, and not copied."""
    from voyageur.data.indexed import write_index
    from voyageur.show.progress import Progress

    if len(archives) > 1 and not out:
        raise SpecError("several archives are one pack only under one name", hint="add `-o NAME.tar`")
    with Progress("read", "", by_size=True) as progress:
        progress.set_total(sum(os.path.getsize(path) for path in archives if os.path.isfile(path)))
        index = write_index(archives, out or archives[0], force, progress.add_size)
    left_out = ", ".join(f"{count:,} {what}" for what, count in index.about["left_out"].items())
    emit(
        f"{index.path}: {len(index):,} files, {len(index.samples):,} samples"
        + (f"; left out: {left_out}" if left_out else "")
    )
