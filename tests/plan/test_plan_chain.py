"""How a long run is cut, and how one piece follows the other."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.plan.wishes import CLUSTER, MACHINE, plan
from voyageur.errors import SiteError, SpecError
from voyageur.plan import Plan
from voyageur.site import Site
from voyageur.site.facts import Limits, Times
from voyageur.units import Duration

TIERS = replace(CLUSTER, times=Times(tiers=tuple(Duration.parse(one) for one in ("3h", "12h", "1d", "3d"))))


def directives(made: Plan) -> list[str]:
    return [line.flag for line in made.directives]


def exports(made: Plan) -> dict[str, str]:
    return {export.name: export.value for export in made.exports}


@pytest.mark.parametrize(
    ("site", "chain", "time", "pieces", "piece"),
    [
        (CLUSTER, "auto", "3d", 3, "1d"),
        (TIERS, "auto", "3d", 3, "1d"),
        (TIERS, "auto", "5h", 1, "5h"),
        (CLUSTER, "6h", "1d", 4, "6h"),
        (CLUSTER, "6h", "25h", 5, "6h"),
        (CLUSTER, 10, "2h", 10, "2h"),
        (MACHINE, 3, "1m", 3, "1m"),
        (MACHINE, "auto", "3d", 3, "1d"),
    ],
)
def test_cutting(site: Site, chain: object, time: str, pieces: int, piece: str) -> None:
    made = plan(site, checkpoint__chain=chain, time=time, checkpoint__pattern="*.pt")
    assert made.chain is not None
    assert (made.chain.pieces.value, made.chain.piece.value) == (pieces, Duration.parse(piece))
    assert made.shape.time.value == Duration.parse(piece)
    array = [flag for flag in directives(made) if flag.startswith("--array")]
    assert array == ([f"--array=1-{pieces}%1"] if pieces > 1 else [])


def test_without_a_chain_nothing_changes() -> None:
    made = plan(time="3h")
    assert made.chain is None
    assert not {"VOY_CHAIN", "VOY_PIECES", "VOY_SUCCESSORS", "WANDB_RUN_ID"} & set(exports(made))
    with pytest.raises(SiteError, match="is longer than") as told:
        plan(time="8d")
    assert "--chain auto" in str(told.value.hint)


@pytest.mark.parametrize(
    ("limits", "by"),
    [
        (Limits(), "array"),
        (Limits(array=3), "successors"),
        (Limits(submitted=2), "successors"),
        (Limits(array=3, sbatch_in_jobs=False), "requeue"),
    ],
)
def test_one_after_another(limits: Limits, by: str) -> None:
    made = plan(replace(CLUSTER, limits=limits), checkpoint__chain=5, time="2h")
    assert made.chain is not None and made.chain.by.value == by
    assert exports(made)["VOY_CHAIN"] == by
    assert any(flag.startswith("--array") for flag in directives(made)) == (by == "array")


def test_what_cannot_be_chained() -> None:
    with pytest.raises(SpecError, match="may be put back"):
        plan(checkpoint__chain=5, checkpoint__by="requeue", requeue=False)
    with pytest.raises(SpecError, match="too long"):
        plan(checkpoint__chain=5000)


def test_the_tracker_sees_one_run_unless_the_user_names_it() -> None:
    assert exports(plan(checkpoint__pattern="*.pt"))["WANDB_RUN_ID"] == "train-0123456789ab"
    own = plan(checkpoint__pattern="*.pt", env__variables={"WANDB_RUN_ID": "mine"})
    assert exports(own)["WANDB_RUN_ID"] == "mine" and exports(own)["WANDB_RESUME"] == "allow"


def test_a_chain_that_cannot_resume_is_pointed_out() -> None:
    assert any("must find its own checkpoint" in note for note in plan(checkpoint__chain=3).notes)
    assert not any("own checkpoint" in note for note in plan(checkpoint__chain=3, checkpoint__pattern="*.pt").notes)
    assert any("without a `pattern`" in note for note in plan(checkpoint__keep=3).notes)
