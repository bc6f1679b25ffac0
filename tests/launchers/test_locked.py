"""The examples from locked environments: made once, where there is a network, for nodes that have none."""

from __future__ import annotations

import pytest

from tests.launchers.environments import EVERYTHING, PACKAGES, built_or_skipped
from tests.launchers.test_launchers import STYLES, copied
from tests.place import Place

# DeepSpeed, Horovod and Spark have no wheels, and mpirun has to be on the nodes before an environment is.
LOCKED = [style for style in STYLES if style not in ("deepspeed", "horovod", "spark", "mpi")]
ALWAYS = ("dask",)


@pytest.mark.parametrize("style", LOCKED)
def test_the_example_runs_from_a_lock_and_its_ranks_agree(style: str, production: Place) -> None:
    if not EVERYTHING and style not in ALWAYS:
        pytest.skip("`make test-launchers` runs it")
    packages, words, times = STYLES[style]
    place = copied(production, style, production.root)
    place.write("requirements.txt", "".join(f"{one}\n" for one in PACKAGES[packages]))
    place.environment.pop("VIRTUAL_ENV")
    built_or_skipped(place)
    ended = place.finish()
    log = place.log(ended["run"])
    assert ended["state"] == "done", log
    assert log.count(words) == times, log
    staged = [one for one in ended["events"] if one["event"] == "staged"]
    assert [one["end"] for one in staged] == ["whole", "whole"]
    assert len({one["node"] for one in staged}) == 2
