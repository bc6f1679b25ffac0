"""A place where runs really run: this machine, or a real Slurm of either kind. Tests use it as a user would."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.testbed.bed import Bed

KINDS = ("local", "S", "P")
VOY = [sys.executable, "-c", "from voyageur.cli import main; main()"]


class Place:
    """One user's home, one project and one scratch, on one engine."""

    def __init__(self, root: Path, bed: Bed | None) -> None:
        self.root = root
        self.bed = bed
        self.site = "slurm" if bed else "local"
        self.home, self.scratch, self.project = root / "home", root / "scratch", root / "project"
        for folder in (self.home, self.scratch, self.project):
            folder.mkdir(parents=True)
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "USER": "tester",
            "LANG": "C.UTF-8",
            "SCRATCH": str(self.scratch),
            "VOY_SITE": self.site,
            "VIRTUAL_ENV": sys.prefix,
            **(bed.environment if bed else {}),
        }

    def hold(self, command: str) -> Path:
        """From now on this command of Slurm's waits, each time, until the file that is returned exists."""
        tools, real = self.root / "tools", shutil.which(command)
        tools.mkdir(exist_ok=True)
        go = self.root / f"{command}-may-go"
        (tools / command).write_text(
            f"#!/bin/bash\ntouch {self.root}/{command}-waits\n"
            f'until [ -e {go} ]; do sleep 0.05; done\nexec {real} "$@"\n'
        )
        (tools / command).chmod(0o755)
        self.environment["PATH"] = f"{tools}:{self.environment['PATH']}"
        return go

    def held(self, command: str) -> bool:
        return (self.root / f"{command}-waits").exists()

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """`voy`, and do not wait for it."""
        return subprocess.Popen(
            [*VOY, *arguments], cwd=self.project, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, start_new_session=True, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )  # fmt: skip

    def fill(self, *arguments: str) -> str:
        """A job that takes all nodes, so that whatever is submitted now has to wait for its end."""
        assert self.bed
        blocker = self.bed.submit(["--nodes=4", "--exclusive", *arguments, "--wrap=sleep 100"])
        self.bed.wait_state(blocker, "RUNNING")
        return blocker

    def tell(self, run: str, event: str, time: float = 0.0, **facts: object) -> None:
        """Write an event into the run's record, as if it had been there."""
        with open(self.folder(run) / "events.jsonl", "a") as file:
            file.write(json.dumps({"time": time, "event": event, **facts}) + "\n")

    def forget_event(self, run: str, event: str) -> None:
        path = self.folder(run) / "events.jsonl"
        lines = [line for line in path.read_text().splitlines() if f'"event": "{event}"' not in line]
        path.write_text("".join(f"{line}\n" for line in lines))

    def write(self, name: str, text: str) -> Path:
        path = self.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def voy(self, *arguments: str, code: int | None = 0, **environment: str) -> subprocess.CompletedProcess[str]:
        answer = subprocess.run(
            [*VOY, *arguments], cwd=self.project, env={**self.environment, **environment}, timeout=280,
            capture_output=True, text=True, check=False, errors="surrogateescape",
        )  # fmt: skip
        if code is not None:
            assert answer.returncode == code, f"{arguments}\n{answer.stdout}\n{answer.stderr}"
        return answer

    def submit(self, *arguments: str, **environment: str) -> str:
        return self.voy("submit", *arguments, code=0, **environment).stdout.strip()

    def wait(self, run: str, code: int | None = None) -> dict[str, Any]:
        answer = self.voy("wait", "--json", "--timeout", "4m", run, code=code)
        assert answer.stdout, answer.stderr
        return dict(json.loads(answer.stdout))

    def finish(self, *arguments: str, **environment: str) -> dict[str, Any]:
        return self.wait(self.submit(*arguments, **environment))

    def status(self, run: str) -> dict[str, Any]:
        return dict(json.loads(self.voy("status", "--json", run).stdout))

    def folder(self, run: str) -> Path:
        return next(self.scratch.glob(f"*/hpc_outputs/{run}"))

    def log(self, run: str) -> str:
        return self.voy("logs", run).stdout

    def until(self, what: Callable[[], Any], seconds: float = 60) -> Any:
        deadline = time.monotonic() + seconds
        while not (found := what()):
            assert time.monotonic() < deadline, "it did not come to pass in time"
            time.sleep(0.1)
        return found

    def until_logged(self, run: str, text: str, seconds: float = 60) -> str:
        return str(self.until(lambda: (log := self.log(run)) and text in log and log, seconds))

    def node_folders(self) -> list[str]:
        """What runs of this place have on node-local disks now."""
        places = [self.bed.local_tmp(node) for node in self.bed.nodes] if self.bed and self.bed.kind == "P" else []
        names = [path.name for place in [*places, Path(tempfile.gettempdir())] for path in place.glob("voy-*")]
        tokens = [json.loads(path.read_text())["token"] for path in self.scratch.glob("*/hpc_outputs/*/run.json")]
        return [name for name in names if any(token in name for token in tokens)]


def _made(kind: str, request: pytest.FixtureRequest) -> Iterator[Place]:
    bed: Bed | None = request.getfixturevalue(f"bed_{kind.lower()}") if kind != "local" else None
    yield from _made_on(bed)


def _made_on(bed: Bed | None) -> Iterator[Place]:
    root = Path(tempfile.mkdtemp(prefix="place-", dir=bed.shared if bed else None))
    yield Place(root, bed)
    shutil.rmtree(root, ignore_errors=True)


@pytest.fixture(params=KINDS)
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    """Every engine in turn: one behavioural suite for all."""
    yield from _made(request.param, request)


@pytest.fixture
def local(request: pytest.FixtureRequest) -> Iterator[Place]:
    yield from _made("local", request)


@pytest.fixture
def simple(request: pytest.FixtureRequest) -> Iterator[Place]:
    """A Slurm of kind S."""
    yield from _made("S", request)


@pytest.fixture
def production(request: pytest.FixtureRequest) -> Iterator[Place]:
    """A Slurm of kind P, as real sites run it."""
    yield from _made("P", request)


@pytest.fixture
def charged(bed_with_accounts: Bed) -> Iterator[Place]:
    """A Slurm of kind P that charges accounts and enforces limits."""
    yield from _made_on(bed_with_accounts)


@pytest.fixture(params=["S", "P"])
def slurm(request: pytest.FixtureRequest) -> Iterator[Place]:
    yield from _made(request.param, request)
