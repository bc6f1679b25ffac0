"""The environment of a lock, made where the site allows it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec.structs import replace

from voyageur.commands import session
from voyageur.commands.env.setting import Setting, setting_of
from voyageur.commands.environments import Provision
from voyageur.env.lock import key_of
from voyageur.env.store import find_built
from voyageur.errors import SiteError, SpecError
from voyageur.show.output import aside
from voyageur.site.facts import Welcome
from voyageur.units import counted

if TYPE_CHECKING:
    from voyageur.commands.options import Wish
    from voyageur.env.model import Built
    from voyageur.site import Site
    from voyageur.workshop.making import Order


def builds_here(setting: Setting) -> bool:
    """Nothing is compiled, wheels are unpacked; still some sites want even that in a job."""
    site = setting.site
    inside_a_job = "SLURM_JOB_ID" in session.environment()
    return site.engine == "local" or inside_a_job or site.conduct.login_builds in (Welcome.FINE, Welcome.UNKNOWN)


def check_may_build_here(site: Site) -> None:
    if site.conduct.login_builds is Welcome.FORBIDDEN and "SLURM_JOB_ID" not in session.environment():
        raise SiteError(
            f"{site.name} forbids builds where people log in",
            facts=[site.conduct.source] if site.conduct.source else [],
            hint="`voy env build` makes it in a job",
        )


def make_what_is_missing(wish: Wish, site_name: str | None = None) -> None:
    """Before a run is planned. Where the site wants builds in a job, it is for the user to submit one."""
    from voyageur.commands.environments import environment_for
    from voyageur.commands.planning import read_wish

    spec = read_wish(wish, site_name)
    if not spec.env.requirements and not any(spec.project.root.glob("voyageur*.lock")):
        return
    setting = setting_of(spec)
    provision = environment_for(spec, setting.site, setting.scratch)
    if not provision.missing or not session.is_here(setting.site):
        return
    if not builds_here(setting):
        facts = [f"{setting.site.name} wants builds in a job, and not where people log in"]
        raise SpecError(provision.missing, facts=facts, hint=f"`{provision.hint}`")
    if provision.stale and provision.lock_file:
        raise SpecError(provision.missing, facts=[str(provision.lock_file)], hint=f"`{provision.hint}` makes it anew")
    _make_both(setting, provision)


def lock_for_build(setting: Setting) -> Provision:
    """Raises SpecError where nothing asks for an environment, or where the lock does not hold any more."""
    from voyageur.commands.environments import environment_for
    from voyageur.commands.locking import source_names

    provision = environment_for(setting.spec, setting.site, setting.scratch)
    if provision.lock and not provision.stale:
        return provision
    if provision.lock_file:
        raise SpecError(provision.missing, facts=[str(provision.lock_file)], hint=f"`{provision.hint}` makes it anew")
    if setting.spec.says("env.venv"):
        hint = "leave it out, and name what is wanted in `env.requirements`"
        raise SpecError(
            "the project names a virtual environment, which is used as it is", facts=["env.venv"], hint=hint
        )
    names = ", ".join(source_names(setting))
    return with_lock(setting, replace(provision, missing=f"{names} had no lock yet"))


def with_lock(setting: Setting, provision: Provision) -> Provision:
    """For a project that has none yet."""
    from voyageur.commands.environments import environment_for
    from voyageur.commands.locking import make_lock, write_lock

    path = write_lock(setting, make_lock(setting).lock)
    aside(f"{provision.missing}: {path.name} is written")
    return environment_for(setting.spec, setting.site, setting.scratch)


def _make_both(setting: Setting, provision: Provision) -> None:
    if provision.stale:
        provision = with_lock(setting, provision)
    if not provision.built and not provision.in_job:
        assert provision.lock
        count = counted(len(provision.lock.packages) or len(provision.lock.holds), "package")
        aside(f"{provision.missing}: it is made now, once, with {count}")
        build_here(setting, provision, tell=lambda _: None)


def order_for(setting: Setting, provision: Provision, *, with_uv: bool = True) -> Order:
    from voyageur.workshop.locking import own_wheels
    from voyageur.workshop.making import Order

    assert provision.lock and provision.lock_file
    spec = setting.spec
    return Order(
        key=key_of(provision.lock, spec.env.form),
        lock=provision.lock,
        root=str(setting.root),
        folder=str(setting.environments),
        cache=str(setting.cache),
        site=setting.site.name,
        source=str(provision.lock_file),
        form=spec.env.form,
        purge=setting.site.software.purge,
        python=spec.env.python,
        folders=own_wheels(setting.root, spec.env.wheels),
        with_uv=with_uv,
    )


def build_here(
    setting: Setting,
    provision: Provision,
    *,
    again: bool = False,
    with_uv: bool = True,
    tell: Callable[[str], None] = aside,
) -> Built:
    from voyageur.commands.quota_check import check_quotas
    from voyageur.workshop.making import make

    order = replace(order_for(setting, provision, with_uv=with_uv), again=again)
    if again or find_built(setting.environments, order.key) is None:
        check_quotas(setting, order)
    return make(order, session.environment(), tell)
