"""`voy site detect`: which cluster this machine is, and by which signs."""

from __future__ import annotations

import click

from voyageur.show.output import emit, emit_json


@click.command("detect")
@click.option("--json", "as_json", is_flag=True, help="one JSON document")
def command(as_json: bool) -> None:
    """Say which cluster this machine is, and by which signs. Asks no command of Slurm's."""
    from voyageur.commands import session

    signs, site = session.signs_here(), session.usual_site()
    if as_json:
        emit_json({"site": site, "cluster": signs.cluster, "host": signs.host, "domain": signs.domain})
        return
    known = [("cluster", signs.cluster), ("host", signs.host), ("domain", signs.domain)]
    emit("\n".join([site, *(f"  {name:<8} {value or 'not known'}" for name, value in known)]))
