"""Which of a site's places a quota is about."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from voyageur.allowance import Quota
from voyageur.site.facts import Place, Storage

_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")


def known_places(storage: Storage) -> tuple[Place, ...]:
    """Those of the profile, or the two that every user has."""
    usual = (Place(name="home", path="$HOME"), Place(name="scratch", path=storage.scratch))
    return storage.places or usual


def whole_path(path: str, environment: Mapping[str, str]) -> str | None:
    """None where it names a variable that is not set here."""
    expanded = _VARIABLE.sub(lambda match: environment.get(match[1] or match[2]) or match[0], path)
    return None if "$" in expanded else expanded


def place_of(quota: Quota, places: Iterable[Place], environment: Mapping[str, str]) -> Place | None:
    """The place that lies in what the quota is about; else the one that bears its name."""
    listed = list(places)
    for place in listed:
        path = whole_path(place.path, environment)
        if path and quota.path and f"{path}/".startswith(quota.path.rstrip("/") + "/"):
            return place
    word = quota.place.strip("/").split("/")[0]
    return next((place for place in listed if place.name == word), None) or next(
        (place for place in listed if word.endswith(place.name)), None
    )
