"""`voy demo` tells its whole story, its program runs alone too, and every example runs."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.launchers.test_callbacks import PROGRAMS as SINGLE
from tests.launchers.test_launchers import EXAMPLE
from tests.launchers.test_resume import PROGRAMS
from voyageur.demo import folder as demo_folder
from voyageur.errors import SpecError
from voyageur.spec import read_spec

VOY = [sys.executable, "-c", "from voyageur.cli import main; main()"]
ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "src" / "voyageur" / "demo" / "project" / "train.py"
EXAMPLES = ROOT / "examples"


class Shell:
    """A user's shell in a folder of their own, with nothing of the real user's."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(root / "home"),
            "XDG_STATE_HOME": str(root / "state"),
            "SCRATCH": str(root / "scratch"),
            "LANG": "C.UTF-8",
        }
        (root / "home").mkdir()

    def type(self, *argv: str, at: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            argv, cwd=at or self.root, env=self.environment | environment, timeout=80,
            capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip

    def voy(self, *words: str, at: Path | None = None, code: int = 0) -> str:
        answer = self.type(*VOY, *words, at=at)
        assert answer.returncode == code, answer.stdout + answer.stderr
        return answer.stdout + answer.stderr


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


def result_in(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / "result.json").read_text()))


# ── the story ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_whole_story(shell: Shell) -> None:
    story = shell.voy("demo")
    assert re.findall(r"^── (\d)\.", story, re.MULTILINE) == ["1", "2", "3", "4", "5", "6"]
    assert re.search(r"^nodes +2 +asked for by voyageur.toml:\d+$", story, re.MULTILINE)
    assert "#SBATCH --nodes=2" in story
    assert "0: rank 0 of 2 on local1" in story
    assert "1: rank 1 of 2 on local2" in story
    assert re.search(r"^weather-\w{4} done$", story, re.MULTILINE)
    assert "tropical cyclone" in story
    folder = shell.root / "voyageur-demo"
    result = result_in(folder / "scratch/voyageur-demo/weather/checkpoints")
    assert result["ranks"] == 2
    assert result["accuracy"] > result["accuracy_of_always_background"] + 0.2
    assert sorted(path.name for path in folder.iterdir()) == ["scratch", "train.py", "voyageur.toml"]
    assert not (folder / "scratch/voyageur-demo/exchange").exists()
    assert not (shell.root / "scratch").exists()


def test_a_folder_that_is_there_is_left_alone(shell: Shell) -> None:
    (shell.root / "voyageur-demo").mkdir()
    answer = shell.voy("demo", code=2)
    assert "voyageur-demo is already there" in answer
    assert "hint: choose another: `voy demo --into voyageur-demo-2`" in answer
    assert list((shell.root / "voyageur-demo").iterdir()) == []


def test_a_place_where_no_folder_can_be_made(shell: Shell) -> None:
    (shell.root / "file").write_text("")
    assert "the demo's folder cannot be made" in shell.voy("demo", "--into", "file/demo", code=2)


def test_without_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo_folder, "find_spec", lambda name: None)
    with pytest.raises(SpecError) as caught:
        demo_folder.check_numpy()
    assert caught.value.exit_code == 2
    assert caught.value.hint == "`pip install 'voyageur[demo]'`"


def test_outside_a_virtual_environment_the_job_has_this_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", sys.base_prefix)
    folder = demo_folder.make_folder(tmp_path / "a demo")
    spec = read_spec(folder=folder, flags={}, environment={})
    assert spec.command[:2] == (sys.executable, "train.py")
    assert spec.env.venv is None
    assert spec.scratch == str(tmp_path / "a demo" / "scratch")


# ── its program ──────────────────────────────────────────────────────────────────────────────────────────────────────

QUICK = ("--examples", "20000", "--epochs", "3")


def test_the_program_runs_alone_and_twice_the_same(shell: Shell) -> None:
    for out in ("one", "two"):
        answer = shell.type(sys.executable, str(PROGRAM), *QUICK, "--out", out)
        assert answer.returncode == 0, answer.stderr
        assert "epoch  3/3" in answer.stdout
    one, two = result_in(shell.root / "one"), result_in(shell.root / "two")
    assert one["confusion"] == two["confusion"]
    assert one["accuracy"] > 0.7


def test_ranks_wait_for_each_other(shell: Shell) -> None:
    """The second starts when the first is already waiting."""
    words = [sys.executable, str(PROGRAM), *QUICK, "--out", "out", "--exchange", "meet/here"]
    ranks = {**shell.environment, "SLURM_STEP_NUM_TASKS": "2"}
    first = subprocess.Popen(words, cwd=shell.root, env={**ranks, "SLURM_PROCID": "0"}, stdout=subprocess.DEVNULL)
    try:
        while not list(shell.root.glob("meet/here/epoch1-rank0.npz")):
            assert first.poll() is None
        assert shell.type(*words, SLURM_STEP_NUM_TASKS="2", SLURM_PROCID="1").returncode == 0
        assert first.wait(30) == 0
    finally:
        first.kill()
    assert result_in(shell.root / "out")["ranks"] == 2
    assert not (shell.root / "meet").exists()


# ── the examples ─────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def example(shell: Shell, request: pytest.FixtureRequest) -> Path:
    return Path(shutil.copytree(EXAMPLES / request.param, shell.root / request.param))


@pytest.mark.parametrize(
    ("example", "words"),
    [
        ("plain", ["squares.txt", "plain-"]),
        ("per-node", ["0: node 0 of 2, local1", "1: node 1 of 2, local2"]),
        ("per-rank", ["0: rank 0 of 4 on local1", "3: rank 3 of 4 on local2"]),
    ],
    indirect=["example"],
)
def test_example(shell: Shell, example: Path, words: list[str]) -> None:
    answer = shell.voy("run", at=example)
    assert all(word in answer for word in words), answer
    assert re.search(rf"^{example.name}-\w+ done$", answer, re.MULTILINE)


@pytest.mark.parametrize("example", ["warning-signal", "stop-file"], indirect=True)
def test_example_saves_in_time_and_goes_on(shell: Shell, example: Path) -> None:
    first = shell.type(*VOY, "run", "-t", "4s", at=example).stdout
    saved = re.search(r"saved at step (\d+) of 300", first)
    assert saved, first
    rest = shell.voy("run", "--", "python3", "count.py", "--out", "{checkpoints}", "--steps", "40", at=example)
    assert f"starting at step {saved[1]}" in rest
    assert "all 40 steps are done" in rest


@pytest.mark.parametrize("example", ["dataset"], indirect=True)
def test_example_trains_from_a_pack(shell: Shell, example: Path) -> None:
    pack = Path(shell.environment["SCRATCH"]) / "dataset" / "points.tar"
    subprocess.run([sys.executable, example / "make_pack.py", pack], check=True)
    shell.voy("data", "index", str(pack), at=example)
    answer = shell.type(*VOY, "run", at=example, VIRTUAL_ENV=sys.prefix).stdout
    assert "2000 points of 3 numbers" in answer and "epoch 4: 8" in answer
    shell.voy("pull", "train", "-o", "got", at=example)
    assert (example / "got" / "figures" / "weights.csv").exists()


@pytest.mark.parametrize("example", ["long-run"], indirect=True)
def test_example_runs_in_pieces(shell: Shell, example: Path) -> None:
    answer = shell.voy("run", at=example)
    assert "epoch 60/60" in answer and "this piece is over; the next goes on" in answer
    assert re.search(r"^long-run-\w+ done$|^train-\w+ done$", answer, re.MULTILINE), answer
    assert [answer.count(f"epoch {number}/60") for number in range(1, 61)] == [1] * 60


def test_every_example_is_tested_and_has_its_page() -> None:
    folders = {path.name for path in EXAMPLES.iterdir() if path.is_dir()}
    here = {"plain", "per-node", "per-rank", "warning-signal", "stop-file", "custom", "dataset", "long-run"}
    elsewhere = {"container", "environment"}  # tests/behaviour
    assert folders == here | set(EXAMPLE.values()) | set(PROGRAMS) | set(SINGLE) | elsewhere
    for name in folders:
        assert (EXAMPLES / name / "README.md").is_file()
        assert f"({name})" in (EXAMPLES / "README.md").read_text()
