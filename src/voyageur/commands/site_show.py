"""`voy site show`: one page about a cluster."""

from __future__ import annotations

import datetime

import click

from voyageur.commands.completing import one_of, sites
from voyageur.errors import SiteError
from voyageur.show.output import emit, emit_json


@click.command("show")
@click.argument("name", required=False, shell_complete=one_of(sites))
@click.option("--json", "as_json", is_flag=True, help="one JSON document")
def command(name: str | None, as_json: bool) -> None:
    """Show one page about a cluster: how to get in, what to ask for, where to put things, what is forbidden."""
    from voyageur.commands import session
    from voyageur.show.site_page import site_text
    from voyageur.show.sites import site_document
    from voyageur.show.style import columns, has_colours
    from voyageur.site import load_profile

    name = name or session.usual_site()
    _refuse_unknown(name)
    asked = name in ("local", "slurm")
    site = session.choose_site(name) if asked else load_profile(name, session.own_profiles())
    if as_json:
        emit_json(site_document(site))
    else:
        emit(site_text(site, datetime.date.today(), has_colours(), columns()))


def _refuse_unknown(name: str) -> None:
    from voyageur.commands.checking import known_sites
    from voyageur.spec.keys import nearest

    known = known_sites()
    if name not in known:
        guess = nearest(name, known)
        hint = f"did you mean `voy site show {guess}`?" if guess else "`voy site list` shows those there are"
        raise SiteError(f"unknown site `{name}`", hint=hint)
