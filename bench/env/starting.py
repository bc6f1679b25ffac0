"""From the job's start to the first line of the program: ours, a virtualenv made in the job, and one on shared storage.

All are jobs of one real Slurm. What is shared lies on a file system that takes a millisecond for each call, as the
environment of ours does; the wheels of the guides' way lie on the local disk, which favours it.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.testbed import start_bed
from tests.testbed.bed import Bed

from bench.data.files import forget
from bench.data.packing import DELAY, slow
from bench.timing import report

VOY = str(Path(sys.executable).with_name("voy"))
TIMES = 3
SLOWER = 20_000  # microseconds
SETS = {
    "numpy pandas scikit-learn": (["numpy", "pandas", "scikit-learn"], ["numpy", "pandas", "sklearn.ensemble"]),
    "torch": (["torch==2.13.0"], ["torch"]),
}
IN_JOB = """#!/bin/bash
set -e
virtualenv --no-download --quiet $TMPDIR/env-$SLURM_JOB_ID
source $TMPDIR/env-$SLURM_JOB_ID/bin/activate
pip install --no-index --quiet --find-links {wheels} -r {requirements}
python {first} {imports}
rm -rf $TMPDIR/env-$SLURM_JOB_ID
"""
ON_SHARED = """#!/bin/bash
set -e
PATH={shared}/venv/bin:$PATH  # its `activate` names the folder that it was made in, where nothing is slow
python {first} {imports}
"""
Told = list[dict[str, float]]


def start(root: Path) -> None:
    wanted = os.environ.get("BENCH_ENV", "")
    for name, (packages, imports) in SETS.items():
        if wanted not in name:
            continue
        with start_bed("S") as bed:
            place = root / name.split()[0]
            place.mkdir()
            _measure(Side(bed, place, packages, imports), name)
        shutil.rmtree(place)


def _measure(side: Side, name: str) -> None:
    """The sides take turns: whatever else the machine does, it does to all of them."""
    side.make()
    runs: dict[str, tuple[Callable[[], Told], int]] = {
        "voy": (lambda: side.voy(1), DELAY),
        "virtualenv and pip in the job": (lambda: side.sbatch(IN_JOB), DELAY),
        "virtualenv on shared storage": (lambda: side.sbatch(ON_SHARED), DELAY),
        "voy, the last of 4 nodes": (lambda: side.voy(4), DELAY),
        "without an environment": (lambda: side.voy(1, bare=True), DELAY),
        "without an environment, 4 nodes": (lambda: side.voy(4, bare=True), DELAY),
        "slow storage": (lambda: side.voy(1), SLOWER),
        "slow storage, 4 nodes": (lambda: side.voy(4), SLOWER),
    }
    found: dict[str, list[Told]] = {what: [] for what in runs}
    with slow(side.source, side.root) as remount:
        for _ in range(TIMES):
            for what, (run, delay) in runs.items():
                remount(delay)
                forget()
                found[what].append(run())
    for what, told in found.items():
        print(f"{name}: {what}: {_all(told, 'first')} to the first line, {_all(told, 'imported')} to all imported")
    ours, in_job, shared, four, bare, bare_four, slower, slower_four = found.values()
    for what in ("first", "imported"):
        mine, theirs = _median(ours, what), _median(in_job, what)
        line = f"{name}: {'first line' if what == 'first' else 'all imported'}"
        report(line, mine, theirs, "virtualenv and pip in the job", "10x sooner", 10 * mine <= theirs)
        theirs = _median(shared, what)
        report(line, mine, theirs, "virtualenv on shared storage", "sooner", mine < theirs)
        _scales(f"{line}, the last of 4 nodes", four, ours, what)
    _scales(f"{name}: without an environment, 4 nodes", bare_four, bare, "first")
    _scales(f"{name}: a call of 20 ms, 4 nodes", slower_four, slower, "first")


def _scales(line: str, several: list[Told], one: list[Told], what: str) -> None:
    last, alone = _median(several, what), _median(one, what)
    report(line, last, alone, "1 node", "within 1.5x", last <= 1.5 * alone)


def _all(runs: list[Told], what: str) -> str:
    return " ".join(f"{max(told[what] for told in run):.2f}" for run in runs) + " s"


def _median(runs: list[Told], what: str) -> float:
    """Of each run its slowest node."""
    return statistics.median(max(told[what] for told in run) for run in runs)


class Side:
    def __init__(self, bed: Bed, root: Path, packages: list[str], imports: list[str]) -> None:
        self.bed, self.root, self.packages, self.imports = bed, root, packages, imports
        self.source, self.project, self.wheels = root / "slow-source", root / "project", root / "wheels"
        self.bare = root / "bare"
        tools = str(Path(sys.executable).parent)
        self.environment = {
            "PATH": f"{tools}:/usr/local/bin:/usr/bin:/bin", "HOME": str(root), "SCRATCH": str(root / "scratch"),
            "TMPDIR": "/var/tmp", "VOY_SITE": "slurm", **bed.environment,
        }  # fmt: skip

    def make(self) -> None:
        """The wheels, the virtualenv, the environment; the last two move to where every call is slow."""
        self.source.mkdir()
        self.project.mkdir()
        lines = ["--no-index", f"--find-links {self.wheels}", *self.packages]
        (self.project / "requirements.txt").write_text("\n".join(lines) + "\n")
        form = os.environ.get("BENCH_FORM", "auto")
        (self.project / "voyageur.toml").write_text(f'[env]\nrequirements = "requirements.txt"\nform = "{form}"\n')
        self.bare.mkdir()
        for folder in (self.project, self.bare):
            shutil.copy(Path(__file__).with_name("first.py"), folder)
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
        download = [*pip, "download", "--quiet", "--dest", str(self.wheels), *self.packages]
        subprocess.run(
            download, check=True, stderr=subprocess.DEVNULL
        )  # with the index that this machine is set up for
        self._run([sys.executable, "-m", "venv", str(self.source / "venv")])
        inside = [str(self.source / "venv" / "bin" / "python"), "-m", "pip", "install", "--quiet", "--no-index"]
        self._run([*inside, "--find-links", str(self.wheels), *self.packages])
        self._run([VOY, "env", "lock"])
        self._run([VOY, "env", "build"])
        made = self.root / "scratch" / ".voyageur" / "environments"
        shutil.move(made, self.source / "environments")
        made.symlink_to(self.root / "shared" / "environments")

    def voy(self, nodes: int, bare: bool = False) -> Told:
        launch = ["-n", str(nodes), "-W", "per-node"] if nodes > 1 else []
        program = ["python3", "first.py"] if bare else ["python", "first.py", *self.imports]
        run = self._run([VOY, "submit", *launch, "--", *program], self.bare if bare else self.project).strip()
        self._run([VOY, "wait", run])
        return list(_told(self._run([VOY, "logs", run])))

    def sbatch(self, text: str) -> Told:
        script, log = self.root / "guide.sh", self.root / "guide.log"
        script.write_text(
            text.format(
                wheels=self.wheels, requirements=self.project / "requirements.txt", shared=self.root / "shared",
                first=self.project / "first.py", imports=" ".join(self.imports),
            )
        )  # fmt: skip
        log.unlink(missing_ok=True)
        self._run(["sbatch", "--wait", f"--output={log}", str(script)])
        return list(_told(log.read_text()))

    def _run(self, argv: list[str], folder: Path | None = None) -> str:
        answer = subprocess.run(
            argv, cwd=folder or self.project, env=self.environment, capture_output=True, text=True, check=False
        )
        if answer.returncode:
            raise RuntimeError(f"{argv}: {answer.stdout}{answer.stderr}")
        return answer.stdout


def _told(log: str) -> Iterator[dict[str, float]]:
    found = [json.loads(line.partition("TOLD ")[2]) for line in log.splitlines() if "TOLD " in line]
    if not found:
        raise RuntimeError(f"it told nothing: {log}{os.linesep}")
    yield from found
