"""What the verbs of `voy env` share: the project, the site, where things lie, and the shell that tools run in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
from msgspec import Struct

from voyageur import places
from voyageur.commands import completing, session
from voyageur.env.store import environments_folder
from voyageur.errors import SiteError
from voyageur.plan.environment import decide_modules
from voyageur.site import Site
from voyageur.spec import Given, Spec

F = TypeVar("F", bound=Callable[..., Any])

_CACHE = ".voyageur/cache/wheels"


def site_option(function: F) -> F:
    return click.option(
        "--on",
        "site_name",
        metavar="SITE",
        help="for this cluster; by default the one that this machine belongs to",
        shell_complete=completing.one_of(completing.sites),
    )(function)


class Setting(Struct, frozen=True, kw_only=True):
    spec: Spec
    site: Site
    scratch: str

    @property
    def root(self) -> Path:
        return self.spec.project.root

    @property
    def environments(self) -> Path:
        return environments_folder(self.scratch)

    @property
    def cache(self) -> Path:
        """Wheels that were downloaded, as whole files. Never in a home."""
        return Path(self.scratch) / _CACHE

    @property
    def modules(self) -> tuple[str, ...]:
        return decide_modules(self.spec, self.site).value


def setting_for(site_name: str | None) -> Setting:
    from voyageur.commands.planning import folder_typed_in
    from voyageur.spec import read_spec

    environment = session.environment()
    spec = read_spec(
        folder=folder_typed_in(),
        flags={"site": Given(site_name, "--on")} if site_name else {},
        environment=environment,
        user_file=places.user_file(environment),
        usual_site=session.usual_site(),
    )
    return setting_of(spec)


def setting_of(spec: Spec) -> Setting:
    from voyageur.commands.checking import check_site_name

    check_site_name(spec)
    site = site_unasked(spec.site or session.usual_site())
    return Setting(spec=spec, site=site, scratch=scratch_for(spec, site))


def site_unasked(name: str) -> Site:
    """What is known of it without its Slurm: environments are made also when that is down."""
    from voyageur.site import load_profile

    if name in ("local", "slurm"):
        return Site(name=name, engine=name, title=name)
    return load_profile(name, session.own_profiles())


def scratch_for(spec: Spec, site: Site) -> str:
    from voyageur.commands.charging import ask_allowance, scratch_of

    accounts = ask_allowance(site)[0] if "{account}" in site.storage.scratch else ()
    return places.scratch_folder(spec.scratch, scratch_of(spec, site, accounts), session.environment())


def check_is_here(site: Site, what: str) -> None:
    if not session.is_here(site):
        where = f" ({site.access.login[0]})" if site.access.login else ""
        raise SiteError(
            f"this machine is not {site.name}, so {what}",
            hint=f"log in there{where} and type the same",
        )
