"""Placeholders in the command: ours are filled in, all other braces are the program's own."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voyageur.runtime.words import fill

AROUND = {"VOY_CHECKPOINTS": "/c p", "scratch_dir": "/s", "VOY_TMP": "/t", "VOY_RUN": "train-3f2a"}
DATA = {"images": "/n/images"}


@pytest.mark.parametrize(
    ("word", "filled"),
    [
        ("{checkpoints}", "/c p"),
        ("--out={checkpoints}/{run}.pt", "--out=/c p/train-3f2a.pt"),
        ("{tmp}{scratch}", "/t/s"),
        ("{{tmp}}", "{tmp}"),
        ("{zebra}", "{zebra}"),
        ("{}", "{}"),
        ('{"lr": 1}', '{"lr": 1}'),
        ("{tmp", "{tmp"),
        ("{{{tmp}}}", "{{tmp}}"),
        ("$VOY_TMP", "$VOY_TMP"),
        ("--in={data.images}/a", "--in=/n/images/a"),
        ("{{data.images}}", "{data.images}"),
        ("{data.other}", "{data.other}"),
        ("{data}", "{data}"),
    ],
)
def test_placeholders(word: str, filled: str) -> None:
    assert fill([word], AROUND, DATA) == [filled]


@given(st.lists(st.text(st.characters(exclude_characters="{}"))))
def test_words_without_braces_stay_as_they_are(words: list[str]) -> None:
    assert fill(words, AROUND, DATA) == words


def test_a_value_is_not_filled_in_again() -> None:
    assert fill(["{run}"], {**AROUND, "VOY_RUN": "{tmp}"}, DATA) == ["{tmp}"]
