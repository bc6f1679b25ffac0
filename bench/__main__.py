"""The benchmarks of the main road, against what people use today."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.testbed import start_bed

from bench.data.packing import pack, pack_shared
from bench.data.staging import stage
from bench.env.starting import start
from bench.programs import make_program
from bench.records import make_runs
from bench.timing import report, seconds, seconds_in_turn

VOY = str(Path(sys.executable).with_name("voy"))


def _environment(root: Path, **more: str) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(root), "SCRATCH": str(root / "scratch"), **more}


def startup(root: Path) -> None:
    """`voy --help` and `voy status` with 100 runs, against an empty Python."""
    environment = _environment(root)
    make_runs(root / "scratch", 100, engine="local", final=True)
    tools = _user_install(root)
    verbs = ("--help", "status")
    commands = [[str(tools / "python"), "-c", "pass"], *([str(tools / "voy"), verb] for verb in verbs)]
    nothing, *ours = seconds_in_turn(commands, environment=environment, folder=root)
    for verb, spent in zip(verbs, ours, strict=True):
        report(f"voy {verb} (100 runs)", spent, nothing, "python -c pass", "under 6x", spent < 6 * nothing)


def _user_install(root: Path) -> Path:
    """What `pip install .` gives a user. The tools of a developer slow each start down: msgspec loads
    typing_extensions where it finds it, 13 ms."""
    subprocess.run([sys.executable, "-m", "venv", str(root / "venv")], check=True)
    tools = root / "venv" / "bin"
    source = str(Path(__file__).parents[1])
    subprocess.run(
        [str(tools / "python"), "-m", "pip", "install", "--quiet", source], check=True, stderr=subprocess.DEVNULL
    )
    return tools


def submit(root: Path) -> None:
    """`voy submit` of a project of 1,000 files, against sbatch of the script it wrote."""
    with start_bed("S") as bed:
        project = root / "project"
        project.mkdir()
        for number in range(1000):
            (project / f"module_{number}.py").write_text(f"VALUE = {number}\n" * 40)
        environment = _environment(root, **bed.environment)
        subprocess.run(["git", "init", "--quiet", str(project)], check=True)
        # On a cluster the jobs run on other machines; here they would compete with what is measured.
        bed.run(["scontrol", "update", "NodeName=ALL", "State=DRAIN", "Reason=bench"])
        argv = [str(_user_install(root) / "voy"), "submit", "--", "true"]
        first = seconds(argv, environment=environment, folder=project, times=1, warm=False)
        script = next((root / "scratch").glob("project/hpc_outputs/*/job.sh"))
        sbatch = ["sbatch", "--parsable", str(script), "s1"]
        ours, theirs = seconds_in_turn([argv, sbatch], environment=environment, folder=project, times=15)
        beyond = ours - theirs
        report(
            "voy submit, 1,000 files",
            ours,
            theirs,
            "sbatch",
            f"under 300 ms beyond (+{beyond * 1000:.0f})",
            beyond < 0.3,
        )
        archives = list((root / "scratch").glob("project/hpc_outputs/.code/*"))
        print(f"{'':44} {first * 1000:8.1f} ms for the first one; {len(archives)} archive for all of them")


def status(root: Path) -> None:
    """The state of 10,000 recorded runs with one question to Slurm, against that one squeue call."""
    with start_bed("S", {"MaxJobCount": "20000"}) as bed:
        done, waiting = root / "done", root / "waiting"
        make_runs(done / "scratch", 10_000, engine="slurm", final=True)
        make_runs(waiting / "scratch", 10_000, engine="slurm", final=False, jobs=_hold_jobs(bed.environment, 10_000))
        for name, home in (("all done", done), ("all waiting in the queue", waiting)):
            environment = _environment(home, **bed.environment)
            squeue = ["squeue", "--me", "--states=all", "--noheader"]
            theirs = seconds(squeue, environment=environment, folder=root, times=5)
            first = seconds([VOY, "status"], environment=environment, folder=root, times=1, warm=False)
            ours = seconds([VOY, "status"], environment=environment, folder=root, times=5)
            report(f"voy status, 10,000 runs, {name}", ours, theirs, "one squeue", "under 1 s", ours < 1)
            print(f"{'':44} {first * 1000:8.1f} ms without the index")


def _hold_jobs(environment: dict[str, str], count: int) -> list[str]:
    """Real jobs that wait, with the names of the runs they stand for."""

    def submit(number: int) -> str:
        argv = [
            "sbatch",
            "--parsable",
            "--hold",
            f"--job-name=train-{number:012x}",
            "--wrap=true",
            "--output=/dev/null",
        ]
        answer = subprocess.run(argv, env={**os.environ, **environment}, capture_output=True, text=True, check=True)
        return answer.stdout.strip()

    with ThreadPoolExecutor(4) as pool:
        return list(pool.map(submit, range(count)))


def check(root: Path) -> None:
    """`voy check` of a project of 100,000 lines, against Python reading the same files and doing nothing with them."""
    project = root / "project"
    lines = make_program(project, 100_000)
    environment = _environment(root)
    tools = _user_install(root)
    parse = "import ast, pathlib, gc; gc.disable(); [ast.parse(p.read_bytes()) for p in pathlib.Path().rglob('*.py')]"
    ours = [str(tools / "voy"), "check", "--on", "narval", "-a", "def-bench", "--", "python3", "train.py"]
    commands = [ours, [str(tools / "python"), "-c", parse]]
    spent, theirs = seconds_in_turn(commands, environment=environment, folder=project, times=5)
    report(f"voy check, {lines:,} lines", spent, theirs, "ast.parse of all", "under 3 s", spent < 3)


def _read(root: Path) -> None:
    from bench.data.reading import read  # its libraries are an extra: `pip install .[bench]`

    read(root)


def _training(root: Path) -> None:
    from bench.data.training import training  # likewise

    training(root)


BENCHES: dict[str, Callable[[Path], None]] = {
    "startup": startup,
    "submit": submit,
    "status": status,
    "check": check,
    "pack": pack,
    "pack-shared": pack_shared,
    "read": _read,
    "stage": stage,
    "training": _training,
    "env": start,
}


def main(names: list[str]) -> None:
    for name in names or BENCHES:
        root = Path(tempfile.mkdtemp(prefix=f"bench-{name}-", dir="/var/tmp"))
        try:
            BENCHES[name](root)
        finally:
            shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1:])
