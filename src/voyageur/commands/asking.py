"""Which cluster a question is put to: only the one that this machine belongs to can answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voyageur.commands import session
from voyageur.errors import SiteError

if TYPE_CHECKING:
    from voyageur.site import Site


def site_to_ask(name: str | None) -> Site:
    """The site of that name, or the usual one. Raises SiteError where nobody could be asked."""
    site = session.choose_site(name or session.environment().get("VOY_SITE"))
    if site.engine == "local":
        raise SiteError(
            "this machine counts nothing, and charges nobody",
            hint="log in to a cluster, or name the one that this machine belongs to with `--on`",
        )
    if not session.is_here(site):
        where = f" ({site.access.login[0]})" if site.access.login else ""
        raise SiteError(
            f"this machine does not belong to {site.name}, so it cannot be asked",
            hint=f"log in there{where} and ask again",
        )
    return site
