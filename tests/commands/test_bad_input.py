"""Bad input: one clear error with a hint, exit code 2, and no half-made run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.place import VOY, Place

TRAIN = ("--", "python", "train.py")


@pytest.mark.parametrize(
    ("flags", "what", "hint"),
    [
        (("--on", "narvall", *TRAIN), "unknown site `narvall`", "--on narval"),
        (("--nodes", "0", *TRAIN), "`resources.nodes` is not right", ""),
        (("--nodes", "two", *TRAIN), "a whole number is wanted", ""),
        (("--time", "-3h", *TRAIN), "a time cannot be negative", ""),
        (("--time", "90", *TRAIN), "a time needs its unit", "3d, 24h, 90m"),
        (("--memory", "10", *TRAIN), "a size needs its unit", "32000M or 10G"),
        (("--gpus", "64", *TRAIN), "has no GPUs", "--gpus 0"),
        (("--exp-name", "../up", *TRAIN), "`experiment` is not right", ""),
        (("--exp-name", "a b", *TRAIN), "`experiment` is not right", ""),
        (("--launch", "torchrunn", *TRAIN), "unknown launch style", ""),
        ((), "there is no command to run", "voy plan -- python train.py"),
        (("--", ""), "it is empty", "voy run -- python train.py"),
        (("--", "pyhton", "train.py"), "there is no command `pyhton`", "did you mean `python`"),
        (("--", "python", "trian.py"), "there is no trian.py in the project", "did you mean train.py"),
        (("--", "./missing.sh"), "there is no missing.sh in the project", ""),
        (("--config", "nothing.txt"), "there is no file nothing.txt", ""),
        (("--gpuss", "1", *TRAIN), "no such option", "--help"),
    ],
)
def test_one_clear_error(local: Place, flags: tuple[str, ...], what: str, hint: str) -> None:
    local.write("train.py", "print(1)")
    for verb in ("plan", "submit") if "--on" in flags else ("plan", "run", "submit"):
        answer = local.voy(verb, *flags, code=2)
        assert answer.stdout == ""
        assert answer.stderr.startswith("error: ") and what in answer.stderr, answer.stderr
        assert hint in answer.stderr, answer.stderr
        assert "Traceback" not in answer.stderr
    assert list(local.scratch.rglob("*")) == []


def test_a_project_without_files(local: Place) -> None:
    answer = local.voy("submit", "--", "true", code=2)
    assert "the project has no files to take along" in answer.stderr
    assert list(local.scratch.rglob("*")) == []


def test_the_home_folder_is_no_project(local: Place) -> None:
    local.project = local.home
    assert "is no project" in local.voy("run", "--", "true", code=2).stderr


def test_a_project_that_may_only_be_read_runs_all_the_same(local: Place) -> None:
    local.write("ok.py", "print('read only')")
    local.project.chmod(0o555)
    assert local.voy("run", "--", "python", "ok.py").stdout.endswith("read only\n")


def test_a_scratch_that_cannot_be_written(local: Place) -> None:
    local.write("ok.py", "print(1)")
    answer = local.voy("submit", "--scratch", "/proc/nowhere", "--", "true", code=2)
    assert "the code cannot be stored" in answer.stderr and "--scratch" in answer.stderr, answer.stderr


def test_an_unknown_key_names_its_line_and_the_right_word(local: Place) -> None:
    local.write("train.py", "print(1)")
    local.write("voyageur.toml", "command = 'python train.py'\n\n[resources]\nndoes = 2\n")
    answer = local.voy("plan", code=2)
    assert "unknown key `resources.ndoes`" in answer.stderr
    assert "voyageur.toml:4" in answer.stderr and "did you mean `resources.nodes`?" in answer.stderr


@pytest.mark.parametrize("verb", ["status", "logs", "wait", "cancel"])
def test_a_run_that_is_not_there(local: Place, verb: str) -> None:
    local.write("train.py", "print(1)")
    run = local.finish(*TRAIN)["run"]
    answer = local.voy(verb, run[:-1] + "x", code=1)
    assert "there is no run" in answer.stderr and f"did you mean `{run}`" in answer.stderr


def test_time_over_the_limit_of_every_partition(slurm: Place) -> None:
    slurm.write("train.py", "print(1)")
    answer = slurm.voy("submit", "--time", "30d", *TRAIN, code=2)
    assert "30d is longer than partition `low` of slurm allows" in answer.stderr and "--time 1d" in answer.stderr
    answer = slurm.voy("submit", "--partition", "short", "--time", "1h", *TRAIN, code=2)
    assert "--time 10m" in answer.stderr
    assert list(slurm.scratch.rglob("*")) == []


def test_an_unknown_gpu(slurm: Place) -> None:
    slurm.write("train.py", "print(1)")
    answer = slurm.voy("submit", "--gpus", "1", "--gpu-type", "v10", *TRAIN, code=2)
    assert "slurm has no GPU called `v10`" in answer.stderr and "--gpu-type v100" in answer.stderr


def test_one_json_document_and_nothing_else(place: Place) -> None:
    place.write("train.py", "print(1)")
    run = json.loads(place.voy("submit", "--json", *TRAIN).stdout)["run"]
    place.wait(run)
    for arguments in (
        ("plan", "--json", *TRAIN),
        ("status", "--json"),
        ("status", "--json", run),
        ("wait", "--json", run),
    ):
        answer = place.voy(*arguments)
        json.loads(answer.stdout)
        assert answer.stderr == "", arguments


def test_a_closed_pipe_is_no_error(local: Place) -> None:
    local.write("train.py", "for i in range(100000): print('line', i)")
    run = local.finish(*TRAIN)["run"]
    line = " ".join(f"'{word}'" if " " in word else word for word in [*VOY, "logs", run]) + " | head -n 2"
    answer = subprocess.run(
        ["bash", "-o", "pipefail", "-c", line],
        cwd=local.project,
        env=local.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.stderr == "" and answer.returncode in (0, 128 + signal.SIGPIPE)


def test_our_own_bug_is_called_one(local: Place, tmp_path: Path) -> None:
    """A mock: the only way to have a bug on demand."""
    local.write("train.py", "print(1)")
    broken = tmp_path / "sitecustomize.py"
    broken.write_text(
        "import voyageur.commands.listing as listing\n"
        "def show_runs(): raise ZeroDivisionError('oops')\n"
        "listing.show_runs = show_runs\n"
    )
    answer = local.voy("status", code=3, PYTHONPATH=str(tmp_path))
    assert "this is a bug in Voyageur" in answer.stderr and "oops" in answer.stderr
    log = next(word for word in answer.stderr.split() if word.endswith(".log"))
    assert "ZeroDivisionError" in Path(log).read_text()
    os.unlink(log)


def test_plan_touches_nothing(place: Place) -> None:
    place.write("train.py", "print(1)")
    before = sorted(place.root.rglob("*"))
    assert "#SBATCH" in place.voy("plan", "-t", "5m", *TRAIN).stdout
    assert place.voy("plan", "--files", *TRAIN).stdout.startswith("1 files travel")
    assert sorted(place.root.rglob("*")) == before


def test_voy_run_stays_here(local: Place) -> None:
    local.write("train.py", "print(1)")
    assert "voy submit --on slurm" in local.voy("run", "--on", "slurm", *TRAIN, code=2).stderr
