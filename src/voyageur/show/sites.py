"""Clusters as people read them: a line for each. The page of one is in `site_page`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

import msgspec

from voyageur.errors import one_line
from voyageur.show.ages import days_since, in_words
from voyageur.show.style import paint, table
from voyageur.site import Gpu, Partition, Site, Status
from voyageur.units import Duration, Size

_WEAK = "*"
_BUILT_IN = "built-in"
_PROFILE = 2  # its column is shown where some are the user's own


def sites_text(sites: Sequence[Site], broken: Mapping[str, str], today: date, colours: bool) -> str:
    """`broken`: profiles that cannot be read, and why. They are somebody's work, so they are not passed over."""
    rows: list[tuple[str, ...]] = [_row(site, today) for site in sorted(sites, key=_retired_last)]
    rows += [(name, "broken", "own", "", "", one_line(why)) for name, why in sorted(broken.items())]
    head: tuple[str, ...] = ("SITE", "STATUS", "PROFILE", "FACTS OF", "AGE", "WHAT")
    if all(row[_PROFILE] == _BUILT_IN for row in rows):
        head, *rows = [(*row[:_PROFILE], *row[_PROFILE + 1 :]) for row in [head, *rows]]
    notes = [paint(note, "dim", colours) for note in _notes(sites, broken)]
    return "\n".join([table(head, rows, colours), *(["", *notes] if notes else [])])


def _retired_last(site: Site) -> tuple[bool, str]:
    return site.status is Status.RETIRED, site.name


def _row(site: Site, today: date) -> tuple[str, ...]:
    oldest = oldest_date(site)
    age = in_words(days_since(oldest, today)) if oldest else ""
    now = f"now {site.successor}: " if site.successor else ""
    weak = _WEAK if weak_groups(site) else ""
    return (site.name, site.status.value, profile_of(site), oldest[:7], age + weak, one_line(now + site.title))


def _notes(sites: Sequence[Site], broken: Mapping[str, str]) -> list[str]:
    notes = []
    if all(profile_of(site) == _BUILT_IN for site in sites) and not broken:
        notes.append("all of these are built in")
    if any(weak_groups(site) for site in sites):
        notes.append(f"{_WEAK} some facts are from users' notes, old pages or sources that disagree;")
        notes.append("  `voy site show NAME` says which")
    if broken:
        notes.append("broken: `voy site show NAME` says what is wrong")
    return notes


def profile_of(site: Site) -> str:
    """Whose file says it; of an own one over a built-in one, both."""
    own = [label.startswith("your own ") for label in site.lineage if not label.startswith("any-")]
    if not any(own):
        return _BUILT_IN
    return "own" if all(own) else "both"


def oldest_date(site: Site) -> str:
    return min((group.date for _, group in site.groups() if group.date), default="")


def weak_groups(site: Site) -> list[str]:
    return [name for name, group in site.groups() if group.weak]


# ── for programs ─────────────────────────────────────────────────────────────────────────────────────────────────────


def sites_document(sites: Sequence[Site], broken: Mapping[str, str], today: date) -> list[dict[str, Any]]:
    found = [
        {
            "name": site.name,
            "title": site.title,
            "status": site.status.value,
            "successor": site.successor,
            "profile": profile_of(site),
            "oldest": oldest_date(site) or None,
            "days": days_since(oldest_date(site), today),
            "weak": weak_groups(site),
            "problem": None,
        }
        for site in sites
    ]
    blank = dict.fromkeys(("title", "status", "successor", "profile", "oldest", "days"))
    found += [{"name": name, **blank, "weak": [], "problem": why} for name, why in broken.items()]
    return sorted(found, key=lambda entry: str(entry["name"]))


def site_document(site: Site) -> dict[str, Any]:
    """Every fact under its name in a profile, times in seconds, sizes in bytes; what is not known is null."""
    document: dict[str, Any] = msgspec.to_builtins(_plain(site))
    return document


def _plain(value: Any) -> Any:
    if isinstance(value, Duration):
        return value.seconds
    if isinstance(value, Size):
        return value.bytes or None
    if isinstance(value, msgspec.Struct):
        counts = isinstance(value, Partition | Gpu)
        items = {name: _plain(item) for name, item in msgspec.structs.asdict(value).items()}
        return {name: None if counts and item == 0 and type(item) is int else item for name, item in items.items()}
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
