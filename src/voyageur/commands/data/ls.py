"""`voy data ls`: what a pack holds."""

from __future__ import annotations

import click

from voyageur.commands import completing
from voyageur.commands.data.options import open_pack
from voyageur.show.output import emit, emit_json

_AT_ONCE = 10_000


@click.command("ls")
@click.argument("path", metavar="PACK", shell_complete=completing.files)
@click.argument("patterns", nargs=-1, metavar="[PATTERN]...")
@click.option("-l", "--long", "with_sizes", is_flag=True, help="with sizes")
@click.option("--json", "as_json", is_flag=True, help="one JSON document")
def command(path: str, patterns: tuple[str, ...], with_sizes: bool, as_json: bool) -> None:
    """List the members of a pack, a folder or a zip; with patterns like 'val/*', those that fit."""
    from voyageur.data.patterns import chosen
    from voyageur.job.data.pack import as_bytes
    from voyageur.show.data import pack_document, plain_name

    pack = open_pack(path)
    numbers = list(chosen(pack, patterns))
    if as_json:
        emit_json(pack_document(pack, numbers))
        return
    for start in range(0, len(numbers), _AT_ONCE):
        some = numbers[start : start + _AT_ONCE]
        names = (plain_name(as_bytes(pack.names[number])) for number in some)
        if with_sizes:
            names = (f"{pack.size(number):>12} {name}" for number, name in zip(some, names, strict=True))
        emit("\n".join(names))
