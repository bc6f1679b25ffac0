"""`voy env build`: the environment of the lock, made once."""

from __future__ import annotations

import click

from voyageur.commands.env.setting import site_option
from voyageur.show.output import emit, emit_json


@click.command("build")
@site_option
@click.option("--here", is_flag=True, help="on this machine, also where the site would rather have a job")
@click.option("--job", is_flag=True, help="in a job, also where it might be made here")
@click.option("--again", is_flag=True, help="make it anew, also when it is there")
@click.option("--json", "as_json", is_flag=True, help="what is known of it as one JSON document")
def command(site_name: str | None, here: bool, job: bool, again: bool, as_json: bool) -> None:
    """Make the environment of the lock as one file. Nothing is done when it is there."""
    import msgspec

    from voyageur.commands.build_job import build_in_job
    from voyageur.commands.building import build_here, builds_here, check_may_build_here, lock_for_build
    from voyageur.commands.env.setting import check_is_here, setting_for
    from voyageur.errors import SpecError
    from voyageur.show.environments import built_text

    if here and job:
        raise SpecError("--here and --job say opposite things", hint="use one of them")
    setting = setting_for(site_name)
    check_is_here(setting.site, "its environment cannot be made here")
    provision = lock_for_build(setting)
    if job or not (here or builds_here(setting)):
        built = build_in_job(setting, provision, again=again)
    else:
        check_may_build_here(setting.site)
        built = build_here(setting, provision, again=again)
    if as_json:
        emit_json(msgspec.to_builtins(built))
    else:
        emit(built_text(built))
