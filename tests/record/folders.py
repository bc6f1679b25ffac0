"""Runs' folders, made by the same code that makes them for users."""

import json
from pathlib import Path, PurePosixPath
from typing import Any

from voyageur.plan import FrozenCode, Identity, Plan, Surroundings, make_plan
from voyageur.record import Run, load
from voyageur.record.create import create_run
from voyageur.runtime import folder as files
from voyageur.script import render
from voyageur.site import Partition, Queues, Site
from voyageur.spec import Given, Spec, read_spec
from voyageur.units import Size

TOKEN = "0123456789ab"
SITE = Site(
    name="slurm",
    engine="slurm",
    title="a cluster",
    queues=Queues(partitions=(Partition(name="main", default=True),)),
)


def planned(scratch: Path, command: tuple[str, ...] = ("python", "train.py"), token: str = TOKEN) -> tuple[Plan, Spec]:
    flags = {"command": Given(command, "the command line")}
    spec = read_spec(folder=Path("/projects/weather"), flags=flags, environment={})
    code = FrozenCode(archive=PurePosixPath("/c.tar"), checksum="c0de", files=1, size=Size(10))
    identity = Identity(slug="train", token=token)
    return make_plan(spec, SITE, Surroundings(scratch=str(scratch)), identity, code), spec


def make_run(scratch: Path, token: str = TOKEN, secrets: dict[str, str] | None = None) -> Run:
    plan, spec = planned(scratch, token=token)
    return create_run(plan, spec, render(plan), secrets or {})


def add_attempt(run: Run, number: int = 1, job: str = "7", **facts: Any) -> Run:
    content = {"job": job, "submission": "s1", "node": "n1", "attempt": number, "beat": 0.0, **facts}
    files.write_atomically(files.attempt_path(str(run.folder), number), json.dumps(content).encode())
    run.note("attempt started", attempt=number, job=job)
    return load(run.folder)


def add_marker(run: Run, end: str = "done", attempt: int = 1, token: str = TOKEN, **facts: Any) -> Run:
    content = {"end": end, "attempt": attempt, "exit_code": 0, "signal": 0, "ended": 2.0, **facts}
    files.write_marker(str(run.folder), content, token)
    return load(run.folder)
