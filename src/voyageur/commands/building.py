"""The environment of a lock, made where the site allows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voyageur.commands import session
from voyageur.commands.env.setting import Setting
from voyageur.commands.environments import Provision
from voyageur.env.lock import key_of
from voyageur.show.output import aside
from voyageur.site.facts import Welcome

if TYPE_CHECKING:
    from voyageur.env.model import Built
    from voyageur.workshop.making import Order


def builds_here(setting: Setting) -> bool:
    """Nothing is compiled, wheels are unpacked; still some sites want even that in a job."""
    site = setting.site
    inside_a_job = "SLURM_JOB_ID" in session.environment()
    return site.engine == "local" or inside_a_job or site.conduct.login_builds in (Welcome.FINE, Welcome.UNKNOWN)


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


def build_here(setting: Setting, provision: Provision, *, again: bool = False, with_uv: bool = True) -> Built:
    from voyageur.workshop.making import make

    return make(order_for(setting, provision, with_uv=with_uv), session.environment(), aside, again=again)
