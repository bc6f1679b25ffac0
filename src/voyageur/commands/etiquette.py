"""What a site asks of those who talk to its Slurm: a pause between two calls."""

from __future__ import annotations

import time
from functools import cache

from voyageur.commands import session
from voyageur.errors import SiteError
from voyageur.site import Site, load_profile


@cache
def poll_pause(site: str) -> float:
    """Seconds between two questions. A site that says nothing leaves it to us."""
    if site in ("local", "slurm"):
        return 0.0
    try:
        pause = load_profile(site, session.own_profiles()).limits.poll_pause
    except SiteError:  # the run is older than the change that made its profile wrong
        return 0.0
    return float(pause.seconds) if pause else 0.0


def pause_between(name: str) -> None:
    """Of several calls of sbatch that we make in a row."""
    if name not in ("local", "slurm"):
        pause = load_profile(name, session.own_profiles()).limits.sbatch_pause
        time.sleep(pause.seconds if pause else 0)


def pause_before_submit(site: Site) -> None:
    """In a loop of `voy submit` the calls of sbatch come no faster than the site wants."""
    if site.limits.sbatch_pause is None:
        return
    pause = float(site.limits.sbatch_pause.seconds)
    last = max((entry.created for entry in session.index().read().values() if entry.site == site.name), default=0.0)
    time.sleep(min(pause, max(0.0, last + pause - time.time())))
