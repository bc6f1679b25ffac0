"""`voy env build`: the environment of the lock, made once."""

from __future__ import annotations

import click

from voyageur.commands.env.setting import site_option
from voyageur.show.output import emit, emit_json


@click.command("build")
@site_option
@click.option("--again", is_flag=True, help="make it anew, also when it is there")
@click.option("--json", "as_json", is_flag=True, help="what is known of it as one JSON document")
def command(site_name: str | None, again: bool, as_json: bool) -> None:
    """Make the environment of the lock as one file. Nothing is done when it is there."""
    import msgspec

    from voyageur.commands.building import build_here
    from voyageur.commands.env.setting import check_is_here, setting_for
    from voyageur.commands.environments import environment_for

    setting = setting_for(site_name)
    check_is_here(setting.site, "its environment cannot be made here")
    provision = environment_for(setting.spec, setting.site, setting.scratch)
    built = build_here(setting, provision, again=again)
    if as_json:
        emit_json(msgspec.to_builtins(built))
        return
    emit(f"{built.archive}: {len(built.packages)} packages, {built.files:,} files in one of {built.size}")
