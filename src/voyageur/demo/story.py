"""The demo as a story: what a user would type, typed for real, and what it means."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from pathlib import Path

from voyageur.errors import RunError
from voyageur.show.output import emit
from voyageur.show.style import has_colours, paint

_VOY = (sys.executable, "-c", "from voyageur.cli import main; main()")
_SCRIPT_LINES = 26
_TIME_TO_READ = 2.0  # seconds before the next chapter, where somebody watches


def tell(folder: Path) -> None:
    _opening(folder)
    _plan(folder)
    _script(folder)
    _run(folder)
    run = next(folder.glob("scratch/*/hpc_outputs/[!.]*"))
    _result(folder)
    _afterwards(folder, run.name)
    _places(folder, run)
    _farewell(folder)


# ── the chapters ─────────────────────────────────────────────────────────────────────────────────────────────────────


def _opening(folder: Path) -> None:
    _say(
        "A program that works on your machine, carried to two nodes: train.py tells tropical cyclones",
        "and atmospheric rivers from ordinary weather. The nodes are processes on this machine; on a",
        "cluster the same commands go through Slurm.",
    )
    _prompt(f"cd {shlex.quote(str(folder))}")
    _prompt("ls")
    emit("\n".join(sorted(path.name for path in folder.iterdir())))


def _plan(folder: Path) -> None:
    _chapter(1, "The plan: every decision with its reason. Nothing is touched yet.")
    _prompt("voy plan")
    decisions, _, _ = _answer(folder, "plan").partition("\n\n")
    emit(decisions)
    _say("(the script follows; the next command shows it alone)")


def _script(folder: Path) -> None:
    _chapter(2, "The script: bash that anyone can read. On a cluster it is the same, and plain `sbatch` runs it.")
    _prompt(f"voy plan --script | head -n {_SCRIPT_LINES}")
    emit("\n".join(_answer(folder, "plan", "--script").splitlines()[:_SCRIPT_LINES]))


def _run(folder: Path) -> None:
    _chapter(3, "The run: on this machine, from that script. Each line begins with the rank that wrote it.")
    _prompt("voy run")
    code = _watch([*_VOY, "run"], folder)
    if code:
        raise RunError(
            "the demo's run did not succeed",
            facts=[f"`voy run` ended with {code}"],
            hint=f"its log says more: `cd {shlex.quote(str(folder))} && voy status`",
        )


def _result(folder: Path) -> None:
    _chapter(4, "The result: where the program was told to write it, as {checkpoints}.")
    table = next(folder.glob("scratch/*/weather/checkpoints/confusion.txt"))
    _prompt(f"cat {table.relative_to(folder)}")
    emit(table.read_text().rstrip("\n"))


def _afterwards(folder: Path, run: str) -> None:
    _chapter(5, "Afterwards: what became of it. The same words serve runs that wait in a queue for days.")
    for words in (["status"], ["status", run]):
        _prompt(" ".join(["voy", *words]))
        emit(_answer(folder, *words).rstrip("\n"))


def _places(folder: Path, run: Path) -> None:
    _chapter(6, f"Where everything lies, below {folder}")
    own = run.parents[1].relative_to(folder)
    rows = [
        ("train.py, voyageur.toml", "the project: its program, and what `voy` knows of it"),
        (f"{own}/weather/checkpoints/", "what the program wrote: " + _names(run.parents[1] / "weather/checkpoints")),
        (f"{own}/hpc_outputs/{run.name}/", f"the run: {_names(run)}"),
        (f"{own}/hpc_outputs/.code/", "the code as it was when the run began, in one file"),
    ]
    emit("\n".join(f"  {place}\n      {what}" for place, what in rows))


def _farewell(folder: Path) -> None:
    _say(
        "Your turn. In the demo's folder, change train.py and type `voy run` again. With a program of",
        "your own: `voy init`, `voy plan`, `voy run`, and on a cluster `voy submit`.",
        f"`rm -r {shlex.quote(str(folder))}` removes the demo.",
    )


# ── typing and showing ───────────────────────────────────────────────────────────────────────────────────────────────


def _environment() -> dict[str, str]:
    """Without VOY_*: the story is that of the project file, whatever this shell has set."""
    return {name: value for name, value in os.environ.items() if not name.startswith("VOY_")}


def _answer(folder: Path, *words: str) -> str:
    done = subprocess.run([*_VOY, *words], cwd=folder, env=_environment(), capture_output=True, check=False)
    if done.returncode:
        raise RunError(
            f"the demo stopped at `voy {' '.join(words)}`",
            facts=[line.strip() for line in done.stderr.decode("utf-8", "replace").splitlines() if line.strip()],
            hint=f"its folder is kept: {folder}",
        )
    return done.stdout.decode("utf-8", "replace")


def _watch(argv: list[str], folder: Path) -> int:
    """Its output goes straight to ours; ^C reaches it too, and then it is given the time to cancel its run."""
    process = subprocess.Popen(argv, cwd=folder, env=_environment(), stderr=subprocess.STDOUT)
    try:
        return process.wait()
    except KeyboardInterrupt:
        process.wait()
        raise


def _names(folder: Path) -> str:
    return ", ".join(sorted(path.name for path in folder.iterdir()))


def _prompt(command: str) -> None:
    emit(f"\n{paint('$', 'dim', has_colours())} {paint(command, 'bold', has_colours())}")


def _chapter(number: int, title: str) -> None:
    if sys.stdout.isatty():
        time.sleep(_TIME_TO_READ)
    emit("\n" + paint(f"── {number}. {title}", "cyan", has_colours()))


def _say(*lines: str) -> None:
    emit("\n" + "\n".join(paint(line, "dim", has_colours()) for line in lines))
