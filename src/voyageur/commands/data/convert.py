"""`voy data convert`: the same files in another form."""

from __future__ import annotations

import click

from voyageur.commands import completing
from voyageur.commands.data.options import size_option
from voyageur.show.output import aside, emit

FORMS = ("pack", "webdataset", "folder", "zip", "hdf5", "lmdb", "tfrecord", "squashfs")


@click.command("convert")
@click.argument("source", metavar="SOURCE", shell_complete=completing.files)
@click.argument("target", metavar="TARGET", shell_complete=completing.files)
@click.option("--to", type=click.Choice(FORMS), help="the form of TARGET, where its ending does not say it")
@click.option("--from", "source_is", type=click.Choice(FORMS), help="the form of SOURCE, which is else seen in it")
@size_option("--shards", help="tars of about this size, like 1G, instead of one")
@click.option("--force", is_flag=True, help="replace what has that name, once the new one is whole")
def command(source: str, target: str, to: str | None, source_is: str | None, shards: int | None, force: bool) -> int:
    """Write a dataset in another form: what has TARGET's name in the end is whole."""
    from voyageur.data.converting import convert
    from voyageur.data.packing import Report
    from voyageur.show.data import converted_text, packed_text, problem_lines
    from voyageur.show.progress import Progress

    with Progress("converted", "files") as progress:
        made = convert(
            source,
            target,
            source_is=source_is,
            to=to,
            shard=shards or 0,
            force=force,
            listed=progress.set_total,
            done=progress.add,
        )
    if not isinstance(made, Report):
        emit(converted_text(made))
        return 0
    emit(packed_text(made))
    if made.problems:
        lines = [f"  {line}" for line in problem_lines(made.problems)]
        aside("\n".join([f"not converted: {len(made.problems):,}", *lines]))
    return 1 if made.problems else 0
