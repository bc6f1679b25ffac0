"""The benchmarks of the main road, against what people use today."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from bench.records import make_runs
from bench.timing import report, seconds
from tests.testbed import start_bed

VOY = str(Path(sys.executable).with_name("voy"))
PASS = [sys.executable, "-c", "pass"]


def _environment(root: Path, **more: str) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(root), "SCRATCH": str(root / "scratch"), **more}


def startup(root: Path) -> None:
    """`voy --help` and `voy status` with 100 runs, against an empty Python."""
    environment = _environment(root)
    make_runs(root / "scratch", 100, engine="local", final=True)
    nothing = seconds(PASS, environment=environment, folder=root)
    for verb in ("--help", "status"):
        ours = seconds([VOY, verb], environment=environment, folder=root)
        report(f"voy {verb} (100 runs)", ours, nothing, "python -c pass", "under 6x", ours < 6 * nothing)


def submit(root: Path) -> None:
    """`voy submit` of a project of 1,000 files, against sbatch of the script it wrote."""
    with start_bed("S") as bed:
        project = root / "project"
        project.mkdir()
        for number in range(1000):
            (project / f"module_{number}.py").write_text(f"VALUE = {number}\n" * 40)
        environment = _environment(root, **bed.environment)
        subprocess.run(["git", "init", "--quiet", str(project)], check=True)
        first = seconds([VOY, "submit", "--", "true"], environment=environment, folder=project, times=1)
        ours = seconds([VOY, "submit", "--", "true"], environment=environment, folder=project, times=9)
        script = next((root / "scratch").glob("project/hpc_outputs/*/job.sh"))
        theirs = seconds(["sbatch", "--parsable", str(script), "s1"], environment=environment, folder=project, times=9)
        beyond = ours - theirs
        report("voy submit, 1,000 files", ours, theirs, "sbatch", f"under 300 ms beyond (+{beyond * 1000:.0f})", beyond < 0.3)
        archives = list((root / "scratch").glob("project/hpc_outputs/.code/*"))
        print(f"{'':44} {first * 1000:8.1f} ms for an early one; {len(archives)} archive for all of them")


def status(root: Path) -> None:
    """The state of 10,000 recorded runs with one question to Slurm, against that one squeue call."""
    with start_bed("S") as bed:
        environment = _environment(root, **bed.environment)
        for name, final in (("all done", True), ("none of them known to Slurm any more", False)):
            shutil.rmtree(root / "scratch", ignore_errors=True)
            make_runs(root / "scratch", 10_000, engine="slurm", final=final)
            squeue = ["squeue", "--me", "--states=all", "--noheader"]
            theirs = seconds(squeue, environment=environment, folder=root, times=5)
            ours = seconds([VOY, "status"], environment=environment, folder=root, times=5)
            report(f"voy status, 10,000 runs, {name}", ours, theirs, "one squeue", "under 1 s", ours < 1)


BENCHES: dict[str, Callable[[Path], None]] = {"startup": startup, "submit": submit, "status": status}


def main(names: list[str]) -> None:
    for name in names or BENCHES:
        root = Path(tempfile.mkdtemp(prefix=f"bench-{name}-", dir="/var/tmp"))
        try:
            BENCHES[name](root)
        finally:
            shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1:])
