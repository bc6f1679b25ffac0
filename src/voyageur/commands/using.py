"""Which runs use which environment, as their folders say."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from voyageur.commands import session
from voyageur.env.lock import key_of
from voyageur.env.model import Built
from voyageur.errors import SpecError
from voyageur.runtime.folder import PLAN, read_json

if TYPE_CHECKING:
    from voyageur.record import Entry

_FORMS = ("auto", "tar", "squashfs")
_MOST = 500  # finished runs; each is a file to read


def runs_by_key() -> dict[str, list[Entry]]:
    """Newest first: those that have not ended, all of them, and of the others the newest."""
    found: dict[str, list[Entry]] = {}
    for place, entry in enumerate(session.runs().all()):
        if entry.final and place >= _MOST:
            continue
        plan = read_json(str(Path(entry.folder) / PLAN)) or {}
        if key := (plan.get("environment") or {}).get("key"):
            found.setdefault(str(key), []).append(entry)
    return found


def is_locked(built: Built) -> bool:
    """Is there still the lock that it was made from, and does it still say the same?"""
    from voyageur.commands.environments import read_lock

    try:
        _, lock = read_lock(Path(built.source))
    except SpecError:
        return False
    return built.key in {key_of(lock, form) for form in _FORMS}
