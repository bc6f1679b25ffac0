"""`voy env show`: which environments there are, what is in them, and which runs use them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from voyageur.commands.env.setting import site_option
from voyageur.show.output import emit, emit_json

if TYPE_CHECKING:
    from voyageur.env.model import Built
    from voyageur.record import Entry


@click.command("show")
@click.argument("key", required=False, metavar="[KEY]")
@site_option
@click.option("--json", "as_json", is_flag=True, help="one JSON document")
def command(key: str | None, site_name: str | None, as_json: bool) -> None:
    """List the environments that were made; with KEY, or its beginning, all about one."""
    from voyageur.commands.env.setting import setting_for
    from voyageur.commands.environments import environment_for
    from voyageur.commands.using import runs_by_key
    from voyageur.env.store import all_built
    from voyageur.show.environments import environment_text, environments_text

    setting = setting_for(site_name)
    provision = environment_for(setting.spec, setting.site, setting.scratch)
    found = sorted(all_built(setting.environments), key=lambda built: -built.made)
    runs = runs_by_key() if found else {}
    if key is not None:
        one = _chosen(found, key)
        if as_json:
            emit_json(_document(one, runs.get(one.key, []), provision.key))
        else:
            emit(environment_text(one, [entry.run for entry in runs.get(one.key, [])]))
    elif as_json:
        listed = [_document(built, runs.get(built.key, []), provision.key) for built in found]
        emit_json({"folder": str(setting.environments), "missing": provision.missing, "environments": listed})
    else:
        uses = {name: [entry.run for entry in entries] for name, entries in runs.items()}
        emit(environments_text(found, uses, provision.key, provision.missing, provision.hint))


def _chosen(found: list[Built], key: str) -> Built:
    from voyageur.errors import RunError

    fitting = [built for built in found if built.key.startswith(key)]
    if len(fitting) == 1:
        return fitting[0]
    what = f"{len(fitting)} environments begin with {key}" if fitting else f"there is no environment {key}"
    raise RunError(what, facts=[built.key for built in fitting[:8]], hint="`voy env show` lists them")


def _document(built: Built, runs: list[Entry], own: str) -> dict[str, Any]:
    import msgspec

    return {
        **msgspec.to_builtins(built),
        "size": built.size.bytes,
        "unpacked": built.unpacked.bytes,
        "of_this_project": built.key == own,
        "runs": [entry.run for entry in runs],
    }
