"""Training on two nodes that is cut, killed, pushed out and put back, twice each: its end is that of one left alone.

The examples with the real packages, on a real Slurm of kind P; the results are compared to the last bit.
"""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from tests import trainer
from tests.launchers.environments import EVERYTHING
from tests.launchers.test_launchers import prepared
from tests.place import Place

pytestmark = pytest.mark.skipif(not EVERYTHING, reason="`make test-launchers` runs it")

PROGRAMS = {
    "ddp-resume": ["python", "train.py", "--steps", "120", "--pause", "0.3"],
    "lightning-resume": ["python", "fit.py", "30", "0.3"],
}
LONGER = {
    "ddp-resume": ["python", "train.py", "--steps", "400", "--pause", "0.3"],
    "lightning-resume": ["python", "fit.py", "90", "0.3"],
}
UNDISTURBED: dict[str, set[str]] = {}


def results(log: str) -> set[str]:
    """Without the launcher's word for the rank in front."""
    return {line[line.index("result of") :] for line in log.splitlines() if "result of rank" in line}


def begins(log: str) -> list[int]:
    return [int(found) for found in re.findall(r"begins at (\d+)", log)]


def ranks(place: Place, run: str) -> list[int]:
    """The processes that train, by their command; the launchers above them say the same words behind their own."""
    token = json.loads((place.folder(run) / "run.json").read_text())["token"]
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
            its_own = f"VOY_TOKEN={token}".encode() in (entry / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        is_program = any(word in (b"train.py", b"fit.py") for word in words[1:4]) and b"runtime" not in b" ".join(words)
        if its_own and is_program:
            found.append(int(entry.name))
    return found


def newest(place: Place, program: str) -> list[int]:
    """By the numbers in its name."""
    names = (path.name for path in place.scratch.glob(f"project/{program}/checkpoints/*"))
    return max(([int(number) for number in re.findall(r"\d+", name)] for name in names), default=[])


def uninterrupted(place: Place, command: list[str]) -> set[str]:
    words = " ".join(command)
    if words not in UNDISTURBED:
        run = place.submit("-t", "10m", "-e", "undisturbed", "--", *command)
        assert place.wait(run, code=0)["attempt"] == 1
        UNDISTURBED[words] = results(place.log(run))
        assert len(UNDISTURBED[words]) == 4
    return UNDISTURBED[words]


def kill_a_rank(place: Place, run: str) -> None:
    os.kill(max(ranks(place, run)), signal.SIGKILL)


def requeue(place: Place, run: str) -> None:
    assert place.bed
    assert place.bed.run(["scontrol", "requeue", place.status(run)["job"]]).returncode == 0


def push_out(place: Place, run: str) -> None:
    assert place.bed
    pusher = place.bed.submit(["--partition=high", "--nodes=4", "--exclusive", "--wrap=sleep 2"])
    place.bed.wait_job(pusher, 90)


def lose_a_node(place: Place, run: str) -> None:
    assert place.bed
    started = [event for event in place.status(run)["events"] if event["event"] == "attempt started"]
    place.bed.node(started[-1]["node"]).crash()


def damage_and_requeue(place: Place, run: str) -> None:
    requeue(place, run)
    folder = place.scratch / "project" / place.status(run)["experiment"] / "checkpoints"
    last = max((path for path in folder.iterdir() if not path.name.startswith(".")), key=lambda path: path.name)
    last.write_bytes(last.read_bytes()[:-3])


def lose_sight(place: Place, run: str) -> None:
    """Only slurmd: what it has started computes on, while Slurm starts all of it anew elsewhere."""
    assert place.bed
    started = [event for event in place.status(run)["events"] if event["event"] == "attempt started"]
    place.bed.node(started[-1]["node"]).kill()


def kill_the_controller(place: Place, run: str) -> None:
    assert place.bed
    place.bed.controller.kill()
    place.bed.controller.start()
    place.bed.controller.wait_ready(60)


class Strike(NamedTuple):
    hit: Callable[[Place, str], None]
    flags: tuple[str, ...] = ()
    starts_anew: bool = True
    takes_long: bool = False  # until Slurm notices; the program must not be done by then


STRIKES = {
    "a rank is killed": Strike(kill_a_rank),
    "requeue": Strike(requeue),
    "requeue, damaged": Strike(damage_and_requeue),
    "preemption": Strike(push_out, ("-p", "low")),
    "preemption, grace": Strike(push_out, ("-p", "lowg")),
    "a node dies": Strike(lose_a_node),
    "slurmd dies": Strike(lose_sight, takes_long=True),
    "the controller dies": Strike(kill_the_controller, starts_anew=False),
}


@pytest.mark.parametrize("strike", STRIKES)
@pytest.mark.parametrize("program", PROGRAMS)
def test_struck_twice_it_ends_as_if_nothing_had_been(production: Place, program: str, strike: str) -> None:
    place, how = prepared(production, program, "torch"), STRIKES[strike]
    command = (LONGER if how.takes_long else PROGRAMS)[program]
    expected = uninterrupted(place, command)
    place.write("voyageur.toml", (place.project / "voyageur.toml").read_text() + "\n[retry]\nfailures = 2\n")
    run = place.submit("-t", "10m", *how.flags, "--", *command)
    for cycle in (1, 2):
        starts = cycle if how.starts_anew else 1
        place.until(lambda: len(begins(place.log(run))) == starts, 200)  # noqa: B023 - asked at once
        before = newest(place, program)
        place.until(lambda: newest(place, program) > before, 90)  # noqa: B023 - asked at once
        how.hit(place, run)
    ended = place.wait(run, code=0)
    log = place.log(run)
    assert ended["state"] == "done" and ended["attempt"] >= (3 if how.starts_anew else 1), log
    assert results(log) == expected, log
    assert begins(log)[0] == 0 < max(begins(log)) or not how.starts_anew, log


@pytest.mark.parametrize("program", PROGRAMS)
def test_told_twice_that_its_time_is_up_it_loses_no_step(production: Place, program: str) -> None:
    """By Slurm's own signal to the job; a real limit of a minute is too short where two cores start four ranks."""
    place = prepared(production, program, "torch")
    expected = uninterrupted(place, PROGRAMS[program])
    place.write("voyageur.toml", "requeue = false\n" + (place.project / "voyageur.toml").read_text())
    run = place.submit("-t", "10m", "--", *PROGRAMS[program])
    for cycle in (1, 2):
        place.until(lambda: len(begins(place.log(run))) == cycle, 200)  # noqa: B023 - asked at once
        before = newest(place, program)
        place.until(lambda: newest(place, program) > before, 90)  # noqa: B023 - asked at once
        trainer.warn(place, run)
    ended = place.wait(run, code=0)
    log = place.log(run)
    assert (ended["state"], ended["attempt"]) == ("done", 3), log
    assert results(log) == expected, log
    steps = re.findall(r"(?:step|epoch) (\d+)/", log)
    assert len(steps) == len(set(steps)), log
