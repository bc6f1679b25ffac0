"""`voy data verify`: is a pack still what was packed?"""

from __future__ import annotations

import click

from voyageur.commands import completing
from voyageur.commands.data.options import open_pack
from voyageur.errors import RunError, SpecError
from voyageur.show.output import emit, emit_json


@click.command("verify")
@click.argument("path", metavar="PACK", shell_complete=completing.files)
@click.option("--json", "as_json", is_flag=True, help="one JSON document")
def command(path: str, as_json: bool) -> int:
    """Read all of a pack and compare its checksums; name the members that are not as they were packed."""
    from voyageur.data.checking import verify
    from voyageur.job.data import TarPack
    from voyageur.show.data import plain_name, problem_lines
    from voyageur.show.progress import Progress
    from voyageur.units import Size

    pack = open_pack(path)
    if not isinstance(pack, TarPack):
        raise SpecError(f"{path} is no pack", hint="only a tar with an index has checksums that can be compared")
    with Progress("verified", "", sum(archive.size for archive in pack.table.archives), by_size=True) as progress:
        found = verify(pack, progress.add_size)
    if as_json:
        bad = [plain_name(name) for name in found.bad]
        emit_json(
            {"path": pack.path, "members": found.members, "size": found.size, "bad": bad, "headers": found.between}
        )
        return 1 if found.bad or found.between else 0
    if found.bad or found.between:
        facts = problem_lines([(name, "not what was packed") for name in found.bad])
        facts += [f"{one}: broken between its members" for one in found.between]
        raise RunError(f"{path} is not what was packed", facts=facts, hint="fetch it or pack it again")
    emit(f"{path}: {found.members:,} files, {Size(found.size)}, all as they were packed")
    return 0
