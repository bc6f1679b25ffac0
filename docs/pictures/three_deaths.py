"""Draw the run that survived three deaths: `python -m docs.pictures.three_deaths OUT.svg`, as root, with test clusters.

A cluster of kind P is started for it; a node loses its power, a job of a higher partition pushes the run out, and it is
put back into the queue with its newest checkpoint damaged.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests import trainer
from tests.place import Place
from tests.testbed.bed import Bed, start_bed

_STEPS = 400


def main(target: str) -> None:
    with start_bed("P") as bed:
        place = Place(Path(tempfile.mkdtemp(prefix="story-", dir=bed.shared)), bed)
        trainer.prepare(place, chain=8, warn="60s")
        run = place.submit("-t", "10m", "-p", "low", *trainer.command(_STEPS, 0.2, 10))
        for number, death in enumerate((_lose_power, _push_out, _damage), 1):
            place.until(lambda: len(trainer.begins(place.log(run))) == number, 150)  # noqa: B023 - asked at once
            place.until_logged(run, f"step {trainer.begins(place.log(run))[-1] + 75}/", 60)
            death(place, bed, run)
        place.wait(run, code=0)
        assert trainer.result(_STEPS) in place.log(run)
        _draw(place, run, target)


def _lose_power(place: Place, bed: Bed, run: str) -> None:
    started = [event for event in place.status(run)["events"] if event["event"] == "attempt started"]
    bed.node(started[-1]["node"]).crash()


def _push_out(place: Place, bed: Bed, run: str) -> None:
    bed.wait_job(bed.submit(["--partition=high", "--nodes=3", "--exclusive", "--wrap=sleep 5"]), 60)


def _damage(place: Place, bed: Bed, run: str) -> None:
    bed.run(["scontrol", "requeue", place.status(run)["job"]])
    newest = max(place.scratch.glob("project/train/checkpoints/step-*"))
    newest.write_bytes(newest.read_bytes()[:-3])


def _draw(place: Place, run: str, target: str) -> None:
    make = Path(__file__).with_name("make.py")
    environment = {**place.environment, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    argv = [sys.executable, str(make), str(Path(target).absolute()), f"voy status {run} --timeline", "--columns", "132"]
    subprocess.run(argv, cwd=place.project, env=environment, check=True)


if __name__ == "__main__":
    main(sys.argv[1])
