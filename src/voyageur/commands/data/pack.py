"""`voy data pack`: folders, or archives of another kind, into one pack."""

from __future__ import annotations

import click

from voyageur.commands import completing
from voyageur.commands.data.options import size_option
from voyageur.show.output import aside, emit


@click.command("pack")
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...", shell_complete=completing.files)
@click.argument("out", metavar="OUT.tar", shell_complete=completing.files)
@size_option("--shards", help="several archives of about this size, like 1G, instead of one")
@click.option("--follow", is_flag=True, help="pack what symbolic links lead to, not the links")
@click.option("--force", is_flag=True, help="replace a pack of that name, once the new one is whole")
def command(sources: tuple[str, ...], out: str, shards: int | None, follow: bool, force: bool) -> int:
    """Make one archive with an index of folders full of files. Stopped, the same command goes on where it was."""
    from voyageur.data.pack import pack
    from voyageur.show.data import packed_text, problem_lines
    from voyageur.show.progress import Progress

    try:
        with Progress("packed", "files") as progress:
            report = pack(
                sources,
                out,
                shard=shards or 0,
                follow=follow,
                force=force,
                listed=progress.set_total,
                done=progress.add,
            )
    except KeyboardInterrupt:
        aside("stopped; the same command goes on where it was")
        raise
    emit(packed_text(report))
    if report.problems:
        aside(
            "\n".join(
                [f"not packed: {len(report.problems):,}", *(f"  {line}" for line in problem_lines(report.problems))]
            )
        )
        return 1
    return 0
