"""Is there room for an environment, by the quotas of its place? Asked before anything is made."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from voyageur.commands import session
from voyageur.errors import RunError
from voyageur.units import Duration, Size

if TYPE_CHECKING:
    from voyageur.allowance import Quota
    from voyageur.commands.env.setting import Setting
    from voyageur.workshop.making import Order

_PATIENCE = Duration(5)
_OWN_FILES = 5  # the archive, its digests, record and log, and the claim while it is made


def check_quotas(setting: Setting, order: Order) -> None:
    """Raises RunError. A site that does not say holds nobody up."""
    if setting.site.engine != "slurm" or not session.is_here(setting.site):
        return
    from voyageur.questions.quota import ask

    environment = session.environment()
    quotas = ask(session.here(), setting.site, environment, _PATIENCE)
    files, size = wanted_by(order)
    for quota in quotas:
        if _is_about(quota, setting):
            _check(quota, files, size, setting.scratch)


def wanted_by(order: Order) -> tuple[int, Size]:
    """On scratch: one file for all that comes out of the wheels, and each wheel that is to be fetched."""
    root, cache = Path(order.root), Path(order.cache)
    files, size = _OWN_FILES, 0
    for package in order.lock.packages:
        here = cache / package.file if "://" in package.origin else root / package.origin
        if here.is_file():
            size += here.stat().st_size
        else:
            files += 1
    return files, Size(size)


def _is_about(quota: Quota, setting: Setting) -> bool:
    from voyageur.site.places import known_places, place_of, whole_path

    environment = session.environment()
    place = None if quota.whole else place_of(quota, known_places(setting.site.storage), environment)
    path = whole_path(place.path, environment) if place else None
    return bool(path) and f"{setting.scratch}/".startswith(f"{path}/")


def _check(quota: Quota, files: int, size: Size, scratch: str) -> None:
    facts = []
    if quota.files is not None and quota.file_limit and quota.files + files > quota.file_limit:
        facts.append(f"{quota.files:,} of {quota.file_limit:,} files are there, and {files} more are wanted")
    if quota.used and quota.limit and quota.used.bytes + size.bytes > quota.limit.bytes:
        facts.append(f"{quota.used} of {quota.limit} are used, and about {size} more are wanted")
    if facts:
        hint = "`voy env prune` removes environments that nothing needs; `voy quota` tells where the rest is"
        raise RunError(f"there is no room for the environment in {scratch}", facts=facts, hint=hint)
