"""The length of a long run's pieces: the one with which all of it is expected to be done first."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.plan.test_plan_chain import TIERS
from tests.plan.wishes import CODE, wish
from voyageur.plan import Identity, Plan, Surroundings, Waited, make_plan
from voyageur.plan.model import Seen
from voyageur.site import Site
from voyageur.units import Duration, Size


def planned(time: str, site: Site = TIERS, around: Surroundings | None = None, **asked: object) -> Plan:
    spec = wish(time=time, checkpoint__chain="auto", checkpoint__pattern="*.pt", gpus=1, **asked)
    around = around or Surroundings(scratch="/scratch")
    return make_plan(spec, site, around, Identity(slug="train", token="0123456789ab"), CODE)


def waited(**hours: float) -> Surroundings:
    """Three jobs of each length, which have waited for so many hours."""
    waits = [Waited(limit=Duration.parse(name.lstrip("_")), seconds=wait * 3600) for name, wait in hours.items()]
    return Surroundings(scratch="/scratch", waits=tuple(waits * 3))


@pytest.mark.parametrize(
    ("time", "around", "piece", "pieces"),
    [
        ("3d", None, "1d", 3),
        ("25h", None, "1d", 2),
        ("13h", None, "13h", 1),
        ("3d", waited(_1d=30.0), "12h", 6),
        ("3d", waited(_1d=30.0, _12h=12.0, _3h=0.1), "3h", 24),
        ("3d", waited(_3d=1.0), "3d", 1),
        ("2h", None, "2h", 1),
    ],
)
def test_what_is_expected_to_be_done_first(time: str, around: Surroundings | None, piece: str, pieces: int) -> None:
    chain = planned(time, around=around).chain
    assert chain is not None
    assert (str(chain.piece.value), chain.pieces.value) == (piece, pieces)


def test_two_waits_are_not_enough_to_believe() -> None:
    around = replace(waited(_1d=100.0), waits=waited(_1d=100.0).waits[:2])
    chain = planned("3d", around=around).chain
    assert chain and str(chain.piece.value) == "1d"


def test_what_is_lost_in_every_piece_speaks_for_long_ones() -> None:
    """Two hours to begin: in a piece of three, one is left for work."""
    quick = waited(_3h=0.1, _12h=1.0, _1d=9.0, _3d=90.0)
    assert (chain := planned("3d", around=quick).chain) and str(chain.piece.value) == "3h"
    slow = replace(quick, start_up=7200.0)
    assert (chain := planned("3d", around=slow).chain) and str(chain.piece.value) == "12h"
    seen = Seen(kind="tar", size=Size.parse("1400G"))
    staged = replace(quick, datasets={"images": seen})
    assert (chain := planned("3d", around=staged).chain) and str(chain.piece.value) == "12h"
    assert (chain := planned("3d", around=quick, checkpoint__warn="1h").chain) and str(chain.piece.value) == "12h"


def test_the_reason_compares_and_says_what_is_assumed() -> None:
    chain = planned("3d").chain
    assert chain and chain.piece.because == (
        "expected to be done first, after 3d9h; pieces of 3h: 3d21h, 12h: 3d11h, 3d: 4d13h; "
        "waiting is assumed: 30m and a tenth of the piece, half of it beyond a day"
    )
    measured = planned("3d", around=waited(_1d=2.0)).chain
    assert measured and "waiting as your jobs of 1d had to on slurm, else assumed" in measured.piece.because
