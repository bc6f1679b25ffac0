"""`voy env prune`: environments that nothing needs any more."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import click

from voyageur.commands.env.setting import site_option
from voyageur.errors import SpecError
from voyageur.show.output import aside, emit

if TYPE_CHECKING:
    from voyageur.commands.env.setting import Setting
    from voyageur.env.model import Built
    from voyageur.workshop.keeping import Leftover


@click.command("prune")
@site_option
@click.option("--all", "everything", is_flag=True, help="also those that a lock still says, and fetched wheels")
@click.option("--older", metavar="TIME", help="only those made longer ago, like 30d")
@click.option("--yes", is_flag=True, help="do not ask")
def command(site_name: str | None, everything: bool, older: str | None, yes: bool) -> None:
    """Remove environments that no lock says and no run uses that waits or goes on. Says first what would go."""
    from voyageur.commands.env.setting import setting_for
    from voyageur.show.environments import pruned_text
    from voyageur.workshop.keeping import cached_wheels, clear, leftovers, remove

    setting = setting_for(site_name)
    folder = setting.environments
    old = _needless(setting, everything, _seconds(older))
    rest = _of_nobody(leftovers(folder))
    wheels = cached_wheels(setting.cache) if everything else []
    if not (old or rest or wheels):
        emit("nothing to remove")
        return
    emit(pruned_text(old, [(one.key, len(one.files), one.size) for one in rest], len(wheels)))
    if not yes:
        _ask()
    for built in old:
        remove(folder, built.key)
    for one in rest:
        clear(folder, one)
    for wheel in wheels:
        wheel.unlink(missing_ok=True)
    aside("removed")


def _seconds(older: str | None) -> float:
    from voyageur.units import Duration, UnitError

    if older is None:
        return 0.0
    try:
        return float(Duration.parse(older).seconds)
    except UnitError as problem:
        raise SpecError(f"--older {older!r}: {problem}", hint="write it like 30d") from None


def _needless(setting: Setting, everything: bool, older: float) -> list[Built]:
    from voyageur.commands.using import is_locked, runs_by_key
    from voyageur.env.store import all_built
    from voyageur.workshop.keeping import is_ours

    found = [built for built in all_built(setting.environments) if is_ours(setting.environments, built)]
    old = [built for built in found if time.time() - built.made >= older]
    if not old:
        return []
    used = {key for key, entries in runs_by_key().items() if any(not entry.final for entry in entries)}
    return [built for built in old if built.key not in used and (everything or not is_locked(built))]


def _of_nobody(rest: list[Leftover]) -> list[Leftover]:
    """The order of a job that waits looks like what a dead one has left."""
    from voyageur.commands import session

    if not rest:
        return []
    waiting = [entry.command for entry in session.runs().all() if not entry.final]
    return [one for one in rest if not any(one.key in command for command in waiting)]


def _ask() -> None:
    if not sys.stdin.isatty():
        raise SpecError("nobody can be asked here whether this may go", hint="`voy env prune --yes` removes it")
    click.confirm("remove this?", abort=True, err=True)
