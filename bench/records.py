"""Many recorded runs, made directly: what ten thousand submissions would have left behind."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path

from voyageur.runtime.folder import write_marker


def make_runs(scratch: Path, count: int, *, engine: str, final: bool, jobs: Sequence[str] = ()) -> None:
    folder = scratch / "bench" / "hpc_outputs"
    folder.mkdir(parents=True)
    for number in range(count):
        token = f"{number:012x}"
        run = f"train-{number:04x}"
        place = folder / run
        place.mkdir()
        (place / "run.json").write_text(json.dumps(_record(run, token, engine, number)))
        events = [{"time": time.time(), "event": "intended"},
                  {"time": time.time(), "event": "submitted", "job": jobs[number] if jobs else "1"}]  # fmt: skip
        (place / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
        if final:
            facts = {"end": "done", "attempt": 1, "exit_code": 0, "started": 1.0, "ended": 2.0}
            write_marker(str(place), facts, token)


def _record(run: str, token: str, engine: str, number: int) -> dict[str, object]:
    return {
        "run": run, "token": token, "job_name": f"train-{token}", "project": "bench", "project_root": "/bench",
        "experiment": "train", "site": engine, "engine": engine, "command": ["python", "train.py", str(number)],
        "created": time.time() - 1000 + number / 100, "time_limit": 3600, "nodes": 1, "voyageur": "0", "spec": {},
    }  # fmt: skip
