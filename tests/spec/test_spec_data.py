"""Datasets as users name them, in files and as the list of older scripts."""

from pathlib import Path

import pytest

from tests.spec.asking import Asking
from voyageur.commands.options import Wish
from voyageur.errors import SpecError
from voyageur.spec import Dataset, Given
from voyageur.spec.data import listed


@pytest.fixture
def asking(tmp_path: Path) -> Asking:
    return Asking(tmp_path)


def test_datasets_are_merged_name_by_name(asking: Asking) -> None:
    asking.user('[data]\na = "user"\nb = "user"\n')
    asking.project(
        '[data]\nb = "project"\nc = { from = "c/", stage = "unpack" }\n'
        '[experiment.x.data]\nc = "experiment"\n[sites.narval.data]\nd = "/narval/d"\n'
    )
    spec = asking.spec({"experiment": Given("x", "-e"), "site": Given("narval", "--on")})
    assert {name: one.from_ for name, one in spec.data.items()} == {
        "a": "user", "b": "project", "c": "experiment", "d": "/narval/d",
    }  # fmt: skip
    assert spec.data["c"].stage is None
    assert "voyageur.toml:1" in spec.source("data") and "config.toml" in spec.source("data")


def test_a_list_is_added_to_the_table(asking: Asking) -> None:
    asking.project('[data]\na = "a.tar"\n')
    spec = asking.spec(dict(Wish((), None, data=("sets/b", "c.tar.gz")).flags))
    assert spec.data == {
        "a": Dataset(from_="a.tar"),
        "b": Dataset(from_="sets/b", stage="copy", at="sets/b"),
        "c": Dataset(from_="c.tar.gz", stage="copy", at="c.tar.gz"),
    }


@pytest.mark.parametrize("paths", [["/absolute"], ["../up"], ["a/../../b"], ["x/d.tar", "y/d.tar"], ["a\nb"]])
def test_what_a_list_may_not_hold(paths: list[str]) -> None:
    with pytest.raises(ValueError, match=r"below the project\'s place|both be called|line break"):
        listed(paths)


def test_the_error_names_the_flag() -> None:
    with pytest.raises(SpecError) as caught:
        Wish((), None, data=("/absolute",))
    assert "--data: `data` is not right" in caught.value.text()


def test_a_name_is_made_of_any_path() -> None:
    assert [next(iter(listed([path]))) for path in ("a/My Images.tar", "data/", "é")] == ["My-Images", "data", "data"]


def test_results(asking: Asking) -> None:
    spec = asking.project('[results]\nsave = ["figures/", "*.csv"]\nevery = "30m"\n').spec()
    assert spec.results.save == ("figures/", "*.csv") and spec.results.every.seconds == 1800
