"""Draw a run that survived three deaths: `PYTHONPATH=. python docs/pictures/three_deaths.py OUT.svg`.

It is really run, on this machine: three times its supervisor is killed with SIGKILL, and the third time its newest
checkpoint is damaged as well.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
from pathlib import Path

from make import picture
from tests import trainer
from tests.place import Place

_STEPS, _DEATHS = 200, 3


def main(target: str) -> None:
    place = Place(Path(tempfile.mkdtemp(prefix="story-")), None)
    trainer.prepare(place, chain=8, warn="60s")
    run = place.submit("-t", "10m", *trainer.command(_STEPS, 0.1, 10))
    for death in range(1, _DEATHS + 1):
        place.until(lambda: len(trainer.begins(place.log(run))) == death, 60)  # noqa: B023 - asked at once
        place.until_logged(run, f"step {trainer.begins(place.log(run))[-1] + 37}/", 60)
        if death == _DEATHS:
            _damage(place)
        _kill(place, run)
    place.wait(run, code=0)
    assert trainer.result(_STEPS) in place.log(run)
    _draw(place, run, target)


def _kill(place: Place, run: str) -> None:
    attempt = json.loads(next(place.folder(run).glob("attempt-*.json")).read_text())
    os.kill(attempt["pid"], signal.SIGKILL)


def _damage(place: Place) -> None:
    newest = max(place.scratch.glob("project/train/checkpoints/step-*"))
    newest.write_bytes(newest.read_bytes()[:-3])


def _draw(place: Place, run: str, target: str) -> None:
    """Without the lines that name this machine's temporary folder."""
    text = place.voy("status", run, "--timeline").stdout.rstrip("\n")
    lines = [line for line in text.splitlines() if not line.startswith(("  folder", "  log"))]
    head = f"\x1b[2m$\x1b[0m \x1b[1mvoy status {run} --timeline\x1b[0m"
    Path(target).write_text(picture([head, *lines], 142), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
