"""What is left of a long run, and how much the last piece asks for."""

from __future__ import annotations

import pytest

from voyageur.runtime import sizing

TOLD = {"first": 1, "done": 30, "total": 90, "per_unit": 60.0}


@pytest.mark.parametrize(
    ("progress", "left"),
    [
        (TOLD, 3600.0),
        ({**TOLD, "done": 90}, 0.0),
        ({**TOLD, "first": 29}, None),
        ({**TOLD, "total": None}, None),
        ({}, None),
    ],
)
def test_what_is_left(progress: dict[str, float], left: float | None) -> None:
    assert sizing.seconds_left(progress) == left


@pytest.mark.parametrize(
    ("left", "minutes"),
    [(3600.0, 88), (0.0, 13), (3 * 86_400.0, None), (13 * 3600.0, 988), (14 * 3600.0, None)],
)
def test_the_last_piece_of_a_day_asks_for_what_is_left(left: float, minutes: int | None) -> None:
    assert sizing.minutes_wanted(left, 86_400, warn=600, start=120) == minutes


def test_pieces_count_their_start_and_their_warning() -> None:
    assert sizing.pieces_for(20 * 3600, 6 * 3600, warn=600, start=600) == 4
    assert sizing.pieces_for(20 * 3600, 6 * 3600, warn=3600, start=1800) == 5
    assert sizing.pieces_for(0, 6 * 3600, warn=600, start=600) == 1
