"""`voy env lock`: every package with its version and digest, as this site has them."""

from __future__ import annotations

import click

from voyageur.commands.env.setting import site_option
from voyageur.show.output import emit, emit_json


@click.command("lock")
@site_option
@click.option("--json", "as_json", is_flag=True, help="the lock as one JSON document")
def command(site_name: str | None, as_json: bool) -> None:
    """Find out every package that the project wants, and write a lock: versions, files and their digests."""
    import msgspec

    from voyageur.commands.env.setting import check_is_here, setting_for
    from voyageur.commands.locking import make_lock, write_lock

    setting = setting_for(site_name)
    check_is_here(setting.site, "its wheels cannot be seen from here")
    lock = make_lock(setting)
    path = write_lock(setting, lock)
    if as_json:
        emit_json({"file": str(path), **msgspec.to_builtins(lock)})
        return
    made_from = " and ".join(source.name for source in lock.sources)
    emit(f"{path.name}: {len(lock.packages)} packages for Python {lock.target.python}, from {made_from}")
    emit("next: `voy env build` makes the environment")
