"""How long a piece of a long run had better be: the length with which all of it is expected to be done first.

Long pieces lose less to their starts and warnings; short ones wait less. What is known of waiting is how long the
user's own jobs have waited there; before there are any, it is assumed, and the plan says so.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from msgspec import Struct

from voyageur.plan.model import Choice, Surroundings, Waited
from voyageur.site import Site
from voyageur.spec import Spec
from voyageur.units import Duration

DAY = Duration(86_400)
_USUAL = tuple(Duration.parse(text) for text in ("3h", "12h", "1d", "3d", "7d"))
_ENOUGH = 3  # jobs
_ASSUMED = "assumed: 30m and a tenth of the piece, half of it beyond a day"
_FIXED, _SHARE, _SHARE_OF_LONG = 1800.0, 0.1, 0.5
_START = 120.0  # seconds until a program does its first work, where none has been measured
_STAGED = 200 * 2**20  # bytes that come to a node in a second


class Expected(Struct, frozen=True, kw_only=True):
    """`wait` is that of one piece; `total` the time until all is done."""

    piece: Duration
    wait: float
    total: float
    is_measured: bool


def fitting_piece(spec: Spec, site: Site, around: Surroundings, longest: Duration | None) -> Choice[Duration]:
    work, lost = float(spec.resources.time.seconds), _lost(spec, around)
    lengths = [one for one in _lengths(site, longest) if one.seconds > 2 * lost]
    if not lengths:
        return Choice(value=min(longest or DAY, DAY), because=f"{site.name} allows no more")
    if spec.resources.time <= max(lengths):
        lengths = [*(one for one in lengths if one < spec.resources.time), spec.resources.time]
    found = [_expected(one, work, lost, lengths, around.waits) for one in lengths]
    best = min(found, key=lambda one: (one.total, -one.piece.seconds))
    return Choice(value=best.piece, because=_reason(best, found, site))


def _lengths(site: Site, longest: Duration | None) -> list[Duration]:
    tiers = [one for one in site.times.tiers or _USUAL if longest is None or one <= longest]
    return tiers if longest is None or longest >= DAY or longest in tiers else [*tiers, longest]


def _lost(spec: Spec, around: Surroundings) -> float:
    """Of each piece: its start, what is staged, and the time after its warning."""
    start = _START if around.start_up is None else around.start_up
    warn = float((spec.checkpoint.warn or Duration(120)).seconds)
    return start + warn + sum(seen.size.bytes for seen in around.datasets.values()) / _STAGED


def _expected(
    piece: Duration, work: float, lost: float, lengths: Sequence[Duration], waits: Sequence[Waited]
) -> Expected:
    """The number of pieces is not rounded: nobody knows so well how much work there is."""
    shorter = max((one.seconds for one in lengths if one < piece), default=0)
    alike = [one.seconds for one in waits if shorter < one.limit.seconds <= piece.seconds]
    is_measured = len(alike) >= _ENOUGH
    wait = statistics.median(alike) if is_measured else _assumed(piece)
    count = max(1.0, work / (piece.seconds - lost)) if piece.seconds < work else 1.0
    return Expected(piece=piece, wait=wait, total=work + count * (wait + lost), is_measured=is_measured)


def _assumed(piece: Duration) -> float:
    return _FIXED + piece.seconds * (_SHARE if piece <= DAY else _SHARE_OF_LONG)


def _reason(best: Expected, found: Sequence[Expected], site: Site) -> str:
    others = ", ".join(f"{one.piece}: {_about(one.total)}" for one in found if one is not best)
    known = [str(one.piece) for one in found if one.is_measured]
    waiting = f"waiting as your jobs of {' and '.join(known)} had to on {site.name}" if known else "waiting is"
    if len(known) < len(found):
        waiting += f"{', else ' if known else ' '}{_ASSUMED}"
    than = f"; pieces of {others}" if others else ""
    return f"expected to be done first, after {_about(best.total)}{than}; {waiting}"


def _about(seconds: float) -> str:
    """To the hour; nobody knows better."""
    return str(Duration(max(1, round(seconds / 3600)) * 3600))
