"""Which of a run's modules its site lacks. A login shell is started to ask, so a good answer is kept for a day."""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
from collections.abc import Sequence

from voyageur import places
from voyageur.commands import session
from voyageur.questions.modules import missing_modules
from voyageur.runtime.folder import read_json, write_atomically
from voyageur.site import Site
from voyageur.units import Duration

_PATIENCE = Duration(10)
_DAY = 86_400.0
_FILE = "modules.json"


def lacking_modules(site: Site, modules: Sequence[str]) -> tuple[str, ...]:
    """Empty also where nobody knows: then the job says what it cannot load."""
    if not modules:
        return ()
    key = _key(site, modules)
    found = _seen()
    if key in found:
        return ()
    missing = missing_modules(session.here(), site, modules, _PATIENCE)
    if missing == ():
        _remember({**found, key: time.time()})
    return missing or ()


def _key(site: Site, modules: Sequence[str]) -> str:
    """The folders that are searched are part of it: a cluster's stack may be another one tomorrow."""
    asked = [site.name, site.software.purge, *modules, session.environment().get("MODULEPATH", "")]
    return hashlib.sha256(json.dumps(asked).encode("utf-8")).hexdigest()[:24]


def _seen() -> dict[str, float]:
    found = read_json(str(places.state_folder(session.environment()) / _FILE)) or {}
    now = time.time()
    return {key: at for key, at in found.items() if isinstance(at, float) and 0 <= now - at < _DAY}


def _remember(found: dict[str, float]) -> None:
    path = places.state_folder(session.environment()) / _FILE
    with contextlib.suppress(OSError):  # a home that is full only means to ask again
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(str(path), json.dumps(found).encode("ascii"))
