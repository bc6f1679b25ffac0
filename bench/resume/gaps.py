"""From the end of one piece to the first step of the next on an idle Slurm, beside a plain script that does nothing."""

from __future__ import annotations

import itertools
import json
import shutil
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests import trainer
from tests.place import Place
from tests.testbed.bed import Bed, start_bed
from tests.testbed.layout import Kind
from tests.testbed.requirements import why_not

PIECES = 5
_AIM = 5.0
_PLAIN = "#!/bin/bash\ndate +%s.%N >>{times}\nsleep 1\ndate +%s.%N >>{times}\n{after}\n"
_AT = 'print("at %.3f" % time.time())'


def on_slurm() -> None:
    missing = why_not("P")
    kind: Kind = "S" if missing else "P"
    if missing:
        print(f"kind P cannot start here ({missing}); kind S stands for it")
    with start_bed(kind) as bed:
        for by in ("array", "successors"):
            _told(kind, by, _ours(bed, by), _plain(bed, by))
        ours, plain = _requeued(bed)
        _told(kind, "requeue", ours, plain)


def _told(kind: str, by: str, ours: Sequence[float], plain: Sequence[float]) -> None:
    usual, bare = statistics.median(ours), statistics.median(plain)
    verdict = "met" if usual - bare < _AIM else "missed"
    beside = f"plain script: {bare:7.2f} s   our own: {usual - bare:5.2f} s"
    print(
        f"{kind}, {by:<12}{usual:7.2f} s (at most {max(ours):.2f} of {len(ours)})   {beside}"
        f"   aim: under {_AIM:g} s of our own, {verdict}"
    )


# ── ours ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _place(bed: Bed) -> Place:
    return Place(Path(tempfile.mkdtemp(prefix="gap-", dir=bed.shared)), bed)


def _start(place: Place, by: str, steps: int) -> str:
    """Each piece is warned by hand, as soon as it has done some steps; by requeue it may look like a preemption."""
    trainer.prepare(place, chain=PIECES, by=by)
    text = (place.project / "voyageur.toml").read_text()
    place.write("voyageur.toml", f"requeue = {json.dumps(by == 'requeue')}\n{text}")
    place.write("train.py", trainer.SOURCE.replace('    print("step', f'    {_AT}\n    print("step'))
    return place.submit("-t", "10m", *trainer.command(steps))


def _warn(place: Place, run: str, piece: int) -> None:
    place.until(lambda: len(trainer.begins(place.log(run))) == piece, 200)
    place.until_logged(run, f"step {trainer.begins(place.log(run))[-1] + 3}/")
    trainer.warn(place, run)


def _gaps(place: Place, run: str) -> list[float]:
    """From what the supervisor wrote down of an end to what the program printed at its next step."""
    ends = [event["time"] for event in place.status(run)["events"] if event["event"] == "attempt ended"]
    steps = [float(line.split()[1]) for line in place.log(run).splitlines() if line.startswith("at ")]
    return [min(step for step in steps if step > end) - end for end in ends if any(step > end for step in steps)]


def _ours(bed: Bed, by: str) -> list[float]:
    place = _place(bed)
    run = _start(place, by, 100_000)
    for piece in range(1, PIECES):
        _warn(place, run, piece)
    place.until(lambda: len(trainer.begins(place.log(run))) == PIECES, 100)
    place.until_logged(run, f"step {trainer.begins(place.log(run))[-1] + 1}/")
    gaps = _gaps(place, run)
    place.voy("cancel", run)
    place.wait(run)
    shutil.rmtree(place.root)
    return gaps


# ── plain ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _script(bed: Bed, name: str, after: str = "") -> tuple[Path, Path]:
    times, script = bed.shared / f"{name}.times", bed.shared / f"{name}.sh"
    script.write_text(_PLAIN.format(times=times, after=after))
    return script, times


def _between(times: Path) -> list[float]:
    moments = [float(line) for line in times.read_text().split()]
    return [begin - end for end, begin in itertools.pairwise(moments)][1::2]


def _plain(bed: Bed, by: str) -> list[float]:
    script, times = _script(bed, f"plain-{by}")
    if by == "array":
        last = bed.submit(["--output=/dev/null", f"--array=1-{PIECES}%1", str(script)])
        _until_written(times, 2 * PIECES)
        return _between(times)
    last = bed.submit(["--output=/dev/null", str(script)])
    for _ in range(PIECES - 1):
        last = bed.submit(["--output=/dev/null", f"--dependency=afterany:{last}", str(script)])
    bed.wait_job(last, 120)
    return _between(times)


def _until_written(times: Path, count: int) -> None:
    deadline = time.monotonic() + 200
    while not times.exists() or len(times.read_text().split()) < count:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{times} has not come to {count} lines")
        time.sleep(0.1)


def _requeued(bed: Bed) -> tuple[list[float], list[float]]:
    """Both at once: Slurm lets each wait its two minutes."""
    again = 'scontrol requeue "$SLURM_JOB_ID"; sleep 30'
    script, times = _script(bed, "plain-requeue", after=f'[ -n "$SLURM_RESTART_COUNT" ] || {{ {again}; }}')
    place = _place(bed)
    run = _start(place, "requeue", 100_000)
    bed.submit(["--output=/dev/null", "--requeue", str(script)])
    _warn(place, run, 1)
    place.until(lambda: len(trainer.begins(place.log(run))) == 2, 240)
    place.until_logged(run, f"step {trainer.begins(place.log(run))[-1] + 1}/")
    gaps = _gaps(place, run)
    place.voy("cancel", run)
    _until_written(times, 4)
    return gaps, _between(times)
