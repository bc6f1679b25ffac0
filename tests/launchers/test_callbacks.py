"""The callbacks of single-process trainers, really run: cut by a limit and killed, twice each, on this machine."""

from __future__ import annotations

import json
import os
import signal

import pytest

from tests.launchers.environments import EVERYTHING
from tests.launchers.test_launchers import prepared
from tests.launchers.test_resume import begins, newest
from tests.place import Place

pytestmark = pytest.mark.skipif(not EVERYTHING, reason="`make test-launchers` runs it")
PROGRAMS = {"keras-resume": ["python", "fit.py", "400"], "trainer-resume": ["python", "finetune.py", "450"]}


def result(log: str) -> str:
    return [line for line in log.splitlines() if line.startswith("result ")][-1]  # a piece that is cut tells its own


@pytest.mark.parametrize("program", PROGRAMS)
def test_cut_and_killed_it_ends_as_if_nothing_had_been(local: Place, program: str) -> None:
    place = prepared(local, program, "trainers")
    undisturbed = place.finish("-t", "5m", "-e", "undisturbed", "--", *PROGRAMS[program])
    expected = result(place.log(undisturbed["run"]))
    run = place.submit("-t", "30s", "--", *PROGRAMS[program])  # where two cores are busy, half of it is the start
    for cycle in (1, 2):
        before = newest(place, program)
        place.until(lambda: len(begins(place.log(run))) == 2 * cycle, 90)  # noqa: B023 - asked at once
        place.until(lambda: newest(place, program) > before, 60)  # noqa: B023 - asked at once
        attempt = json.loads(next(place.folder(run).glob("attempt-*.json")).read_text())
        os.kill(attempt["pid"], signal.SIGKILL)
    ended = place.wait(run, code=0)
    log = place.log(run)
    assert ended["state"] == "done" and ended["attempt"] >= 5, log
    assert result(log) == expected, log
    assert begins(log) == sorted(begins(log)), log
