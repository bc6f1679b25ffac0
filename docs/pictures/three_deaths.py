"""Draw a run that survived three deaths: `PYTHONPATH=. python docs/pictures/three_deaths.py OUT.svg`.

It is really run, on a test cluster of kind P: a job of a higher partition pushes it out without grace, it is put back
into the queue while its newest checkpoint is damaged, and its node dies.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from make import picture
from tests import trainer
from tests.faults.test_long_runs import checkpoints, push_out, where
from tests.place import Place
from tests.testbed.bed import start_bed

_STEPS = 500


def main(target: str) -> None:
    with start_bed("P") as bed:
        place = Place(Path(tempfile.mkdtemp(prefix="story-", dir=bed.shared)), bed)
        trainer.prepare(place, chain=8, warn="60s")
        run = place.submit("-t", "10m", *trainer.command(_STEPS, 0.2, 10))
        for number, death in enumerate((push_out, _damage_and_requeue, _lose_node), 1):
            place.until(lambda: len(trainer.begins(place.log(run))) == number, 150)  # noqa: B023 - asked at once
            place.until_logged(run, f"step {trainer.begins(place.log(run))[-1] + 87}/", 90)
            death(place, run)
        place.wait(run, code=0)
        assert trainer.result(_STEPS) in place.log(run)
        _draw(place, run, target)


def _lose_node(place: Place, run: str) -> None:
    assert place.bed
    place.bed.node(where(place, run)).crash()


def _damage_and_requeue(place: Place, run: str) -> None:
    assert place.bed
    place.bed.run(["scontrol", "requeue", place.status(run)["job"]])
    newest = checkpoints(place)[-1]
    newest.write_bytes(newest.read_bytes()[:-3])


def _draw(place: Place, run: str, target: str) -> None:
    """Without the lines that name this machine's temporary folder."""
    text = place.voy("status", run, "--timeline").stdout.rstrip("\n")
    lines = [line for line in text.splitlines() if not line.startswith(("  folder", "  log"))]
    head = f"\x1b[2m$\x1b[0m \x1b[1mvoy status {run} --timeline\x1b[0m"
    Path(target).write_text(picture([head, *lines], 158), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
