"""`voy data unpack`: members back into files."""

from __future__ import annotations

import click

from voyageur.commands import completing
from voyageur.commands.data.options import open_pack
from voyageur.show.output import aside, emit


@click.command("unpack")
@click.argument("path", metavar="PACK", shell_complete=completing.files)
@click.argument("patterns", nargs=-1, metavar="[PATTERN]...")
@click.option("-o", "--out", required=True, metavar="FOLDER", help="a new folder; it appears when it is whole")
def command(path: str, patterns: tuple[str, ...], out: str) -> int:
    """Write members into a new folder. Nothing that an archive says can reach outside of it."""
    from voyageur.data.unpacking import unpack
    from voyageur.show.data import problem_lines, unpacked_text
    from voyageur.show.progress import Progress

    pack = open_pack(path)
    with Progress("unpacked", "files") as progress:
        made = unpack(pack, patterns, out, progress.set_total, progress.add)
    emit(unpacked_text(made))
    if made.problems:
        aside(
            "\n".join(
                [f"not unpacked: {len(made.problems):,}", *(f"  {line}" for line in problem_lines(made.problems))]
            )
        )
        return 1
    return 0
