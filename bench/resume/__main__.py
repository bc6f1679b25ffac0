"""`python -m bench.resume`: 200 kills while checkpoints are written; the gap between two pieces.

By `job.checkpoint`, by programs that know nothing, and into one file that is written anew each time. The gap on this
machine and on a real Slurm; `python -m bench.resume gaps` measures only the latter.
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

from tests import trainer
from tests.place import Place
from tests.runtime.test_publishing import kill_at_random

from bench.resume import formats
from bench.resume.gaps import on_slurm

KILLS = 200
_PLAIN = """
import os, sys, zipfile
number = 0
while True:
    number += 1
    with zipfile.ZipFile(os.path.join(sys.argv[1], "model.zip"), "w") as archive:
        archive.writestr("weights", bytes([number % 251]) * 300_000)
    print(number, flush=True)
"""


def published() -> None:
    with tempfile.TemporaryDirectory() as folder:
        began = kill_at_random(Path(folder), KILLS, seed=1)
    print(f"job.checkpoint.writing: {KILLS} kills, {len(began)} resumes from a whole checkpoint, to step {began[-1]}")


def plain() -> None:
    """What most programs do: open the file, write into it."""
    moments, damaged = random.Random(1), 0
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(KILLS):
            argv = [sys.executable, "-c", _PLAIN, folder]
            process = subprocess.Popen(argv, stdout=subprocess.PIPE)
            assert process.stdout
            process.stdout.readline()
            time.sleep(moments.uniform(0.0, 0.05))
            process.send_signal(signal.SIGKILL)
            process.communicate()
            damaged += not zipfile.is_zipfile(Path(folder) / "model.zip")
    print(f"open and write:         {KILLS} kills, {KILLS - damaged} whole files")


def gap() -> None:
    """From the end of one piece to the first step of the next, on this machine."""
    with tempfile.TemporaryDirectory() as folder:
        place = Place(Path(folder), None)
        trainer.prepare(place, chain=4, warn="1s")
        place.write(
            "train.py", trainer.SOURCE.replace('print("begins', 'print("at %.3f" % time.time()); print("begins')
        )
        run = place.submit("-t", "4s", *trainer.command(80))
        ended = place.wait(run)
        ends = [event["time"] for event in ended["events"] if event["event"] == "attempt ended"]
        begins = [float(line.split()[1]) for line in place.log(run).splitlines() if line.startswith("at ")]
        gaps = [begin - end for end, begin in zip(ends, begins[1:], strict=False)]
    print(f"this machine:           {max(gaps):.2f} s between two pieces, at most of {len(gaps)} (aim: under 5 s)")


if __name__ == "__main__":
    if sys.argv[1:] != ["gaps"]:
        published()
        formats.killed(KILLS, seed=1)
        plain()
        gap()
    on_slurm()
