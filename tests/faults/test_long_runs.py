"""A long run on a cluster where things die: whatever is killed, twice, its end is that of one that nobody disturbed.

Every run here is a chain by array, the usual one: the next piece starts while Slurm still deals with the last.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests import trainer
from tests.place import Place

STEPS, EVERY = 160, 5


def start(place: Place, *flags: str, steps: int = STEPS) -> str:
    trainer.prepare(place, chain=8, warn="60s")
    return place.submit("-t", "10m", *flags, *trainer.command(steps, 0.2, EVERY))


def survive(place: Place, run: str, strike: Callable[[], None], redone: int) -> None:
    """Two strikes, each well after the attempt has begun; no more than so many steps are computed again for each."""
    for cycle in (1, 2):
        place.until(lambda: len(trainer.begins(place.log(run))) == cycle, 150)  # noqa: B023 - asked at once
        begun = trainer.begins(place.log(run))[-1]
        place.until_logged(run, f"step {begun + 12}/", 60)
        strike()
    ended = place.wait(run, code=0)
    log = place.log(run)
    assert ended["state"] == "done" and ended["attempt"] >= 3, log
    assert trainer.result(STEPS) in log
    assert trainer.lost(log) <= 2 * redone, log


@pytest.mark.parametrize(("listens", "steps", "redone"), [(True, 300, 0), (False, 700, EVERY)], ids=["told", "deaf"])
def test_its_time_is_up_twice(production: Place, listens: bool, steps: int, redone: int) -> None:
    """Slurm's own limit of a minute. It comes up to half a minute late; what does not listen computes until then."""
    trainer.prepare(production, chain=8, warn="30s")
    if not listens:
        production.write("train.py", trainer.SOURCE.replace("job.should_stop()", "False"))
    run = production.submit("-t", "60s", *trainer.command(steps, 0.2, EVERY))
    ended = production.wait(run, code=0)
    log = production.log(run)
    assert ended["state"] == "done" and ended["attempt"] >= 3, log
    assert trainer.result(steps) in log
    assert trainer.lost(log) <= (ended["attempt"] - 1) * redone, log


def checkpoints(place: Place) -> list[Path]:
    return sorted(place.scratch.glob("project/train/checkpoints/step-*"))


def push_out(place: Place, run: str) -> None:
    """A job of a higher partition takes all nodes for a moment."""
    assert place.bed
    attempt = place.status(run)["attempt"]
    pusher = place.bed.submit(["--partition=high", "--nodes=4", "--exclusive", "--wrap=sleep 2"])
    place.bed.wait_job(pusher, 90)
    place.until(lambda: place.status(run)["attempt"] > attempt, 60)


@pytest.mark.parametrize(("partition", "redone"), [("low", EVERY), ("lowg", 0)], ids=["no grace", "grace"])
def test_preempted(production: Place, partition: str, redone: int) -> None:
    run = start(production, "-p", partition)
    survive(production, run, lambda: push_out(production, run), redone)
    assert production.node_folders() == []


def test_put_back_into_the_queue(production: Place) -> None:
    run = start(production)

    def requeue() -> None:
        assert production.bed
        job = production.status(run)["job"]
        assert production.bed.run(["scontrol", "requeue", job]).returncode == 0

    survive(production, run, requeue, EVERY)


def test_the_newest_checkpoint_is_damaged_each_time(production: Place) -> None:
    run = start(production)

    def damage_and_requeue() -> None:
        assert production.bed
        job = production.status(run)["job"]
        assert production.bed.run(["scontrol", "requeue", job]).returncode == 0
        newest = checkpoints(production)[-1]
        newest.write_bytes(newest.read_bytes()[:-3])

    survive(production, run, damage_and_requeue, 3 * EVERY)
    assert "is passed over" in production.log(run)


def where(place: Place, run: str) -> str:
    started = [event for event in place.status(run)["events"] if event["event"] == "attempt started"]
    return str(started[-1]["node"])


def test_nodes_die(production: Place) -> None:
    run = start(production)

    def lose_node() -> None:
        assert production.bed
        production.bed.node(where(production, run)).crash()

    survive(production, run, lose_node, EVERY)
    events = [event for event in production.status(run)["events"] if event["event"] == "node left out"]
    assert len({event["node"] for event in events}) == 2, events
    reasons = [event["because"] for event in events]
    assert all("down" in reason or "does not answer" in reason for reason in reasons), reasons


def test_slurm_loses_sight_of_nodes_that_go_on(production: Place) -> None:
    """Split brain: the first copy still computes when the next begins. It publishes nothing any more, and is ended."""
    steps = 600  # more than two copies can compute before Slurm notices, after half a minute each
    run = start(production, steps=steps)

    def lose_sight() -> None:
        assert production.bed
        production.bed.node(where(production, run)).kill()

    for cycle in (1, 2):
        production.until(lambda: len(trainer.begins(production.log(run))) == cycle, 150)  # noqa: B023 - asked at once
        lose_sight()
    ended = production.wait(run, code=0)
    assert ended["state"] == "done" and ended["attempt"] >= 3
    assert trainer.result(steps) in production.log(run)
    published = [path.read_text() for path in checkpoints(production)]
    assert published and all(text.startswith("{") and text.endswith("}") for text in published)


def test_the_controller_dies(production: Place) -> None:
    assert production.bed
    run = start(production)
    for mark in (20, 60):
        production.until_logged(run, f"step {mark}/")
        production.bed.controller.kill()
        production.until_logged(run, f"step {mark + 20}/")
        assert production.status(run)["state"] == "unknown"
        production.bed.controller.start()
        production.bed.controller.wait_ready(60)
    ended = production.wait(run, code=0)
    assert ended["state"] == "done"
    # One that dies before it has written the job down starts it once more, and what came after the newest checkpoint
    # is computed again.
    assert trainer.result(STEPS) in production.log(run) and trainer.lost(production.log(run)) <= 2 * EVERY
    # A controller that died soon after a submission gives the job's id away once more; a slurmd that remembers the
    # first job of that id refuses the second, and its node is drained.
    for name in production.bed.nodes:
        production.bed.node(name).kill()
        production.bed.node(name).start()
        production.bed.node(name).wait_ready()


def test_more_memory_is_asked_for_once_where_that_is_allowed(production: Place) -> None:
    production.write(
        "hog.py", "import os\nx = bytearray(150 << 20)\nprint('fits', os.environ['VOY_ATTEMPT'], flush=True)"
    )
    production.write("voyageur.toml", "retry.memory = 3\n")
    run = production.submit("--memory", "100M", "--", "python", "hog.py")
    ended = production.wait(run, code=0)
    assert (ended["state"], ended["attempt"]) == ("done", 2)
    assert "fits 2" in production.log(run)
