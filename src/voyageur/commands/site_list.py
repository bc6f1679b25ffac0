"""`voy site list`: every cluster on a line."""

from __future__ import annotations

import datetime

import click

from voyageur.show.output import emit, emit_json
from voyageur.site import Site


@click.command("list")
@click.option("--json", "as_json", is_flag=True, help="one JSON document")
def command(as_json: bool) -> None:
    """Show all profiles: in production or retired, and how old their facts are."""
    from voyageur.show.sites import sites_document, sites_text
    from voyageur.show.style import has_colours

    sites, broken = _profiles()
    today = datetime.date.today()
    if as_json:
        emit_json(sites_document(sites, broken, today))
    else:
        emit(sites_text(sites, broken, today, has_colours()))


def _profiles() -> tuple[list[Site], dict[str, str]]:
    """Those that can be read, and what is wrong with the others: one bad file of a user's own hides no cluster."""
    from voyageur.commands import session
    from voyageur.errors import SiteError
    from voyageur.site import load_profile, profile_names

    sites, broken = [], {}
    own = session.own_profiles()
    for name in profile_names(own):
        try:
            sites.append(load_profile(name, own))
        except SiteError as problem:
            broken[name] = "; ".join([problem.what, *problem.facts])
    return sites, broken
