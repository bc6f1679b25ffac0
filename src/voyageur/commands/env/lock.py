"""`voy env lock`: every package with its version and digest, as this site has them."""

from __future__ import annotations

import click

from voyageur.commands.env.setting import site_option
from voyageur.show.output import aside, emit, emit_json


@click.command("lock")
@site_option
@click.option("--download", is_flag=True, help="fetch what the site's wheelhouse lacks, if it is pure Python")
@click.option("--relax", is_flag=True, help="take other versions, where the wheelhouse lacks those that are wanted")
@click.option("--json", "as_json", is_flag=True, help="the lock as one JSON document")
def command(site_name: str | None, download: bool, relax: bool, as_json: bool) -> None:
    """Find out every package that the project wants, and write a lock: versions, files and their digests."""
    import msgspec

    from voyageur.commands.env.setting import check_is_here, setting_for
    from voyageur.commands.locking import make_lock, write_lock
    from voyageur.show.environments import locked_text

    setting = setting_for(site_name)
    check_is_here(setting.site, "its wheels cannot be seen from here")
    locked = make_lock(setting, download=download, relax=relax)
    path = write_lock(setting, locked.lock)
    for note in locked.notes:
        aside(f"note: {note}")
    if as_json:
        emit_json({"file": str(path), **msgspec.to_builtins(locked)})
    else:
        emit(locked_text(path.name, locked.lock, [(one.name, one.was, one.now) for one in locked.changes]))
