"""`voy pull`: every file as the run saved it, none written over, and it goes on where it was."""

from __future__ import annotations

import json
import os
import tarfile
from pathlib import Path

import pytest

from tests.place import Place
from tests.runtime.datasets import flip_byte

WORK = """
import os
os.makedirs("figures", exist_ok=True)
for number in range(3):
    open(f"figures/{number}.png", "w").write(str(number) * 1000)
open("notes.txt", "w").write("beside the code")
open(os.environ["VOY_CHECKPOINTS"] + "/last.pt", "w").write("weights")
"""


@pytest.fixture
def run(local: Place) -> str:
    local.write("voyageur.toml", '[results]\nsave = ["figures/"]\n')
    local.write("work.py", WORK)
    return str(local.finish("--", "python", "work.py")["run"])


def home(place: Place, run: str) -> Path:
    return next(place.scratch.glob(f"project/work/results/{run}"))


def test_results_checkpoints_and_what_was_written_beside_the_code(local: Place, run: str) -> None:
    local.voy("pull", run, "--checkpoints", "-o", "got")
    got = local.project / "got"
    assert sorted(str(path.relative_to(got)) for path in got.rglob("*") if path.is_file()) == [
        "checkpoints/last.pt", "figures/0.png", "figures/1.png", "figures/2.png", "written-1-local1/notes.txt",
    ]  # fmt: skip
    assert (got / "figures" / "2.png").read_text() == "2" * 1000


def test_it_goes_on_where_it_was_and_writes_over_nothing(local: Place, run: str) -> None:
    local.voy("pull", run)
    got = local.project / run
    (got / "figures" / "1.png").unlink()
    assert "1 files" in local.voy("pull", run).stdout
    (got / "figures" / "1.png").write_text("mine")
    refused = local.voy("pull", run, code=2)
    assert "1 other file of the same name would be lost" in refused.stderr
    assert (got / "figures" / "1.png").read_text() == "mine"
    local.voy("pull", run, "--force")
    assert (got / "figures" / "1.png").read_text() == "1" * 1000
    assert not list(got.rglob("*.part"))


def test_a_damaged_archive_is_named_and_the_rest_comes(local: Place, run: str) -> None:
    entry = json.loads((home(local, run) / "local1.json").read_text())["files"]["figures/1.png"]
    flip_byte(home(local, run) / entry["archive"], entry["offset"] + 5)
    answer = local.voy("pull", run, code=1)
    assert "figures/1.png: it is not what the run saved" in answer.stderr
    assert not (local.project / run / "figures" / "1.png").exists()
    assert (local.project / run / "figures" / "2.png").exists()


@pytest.mark.parametrize("harm", ["cut", "gone"])
def test_an_archive_that_is_cut_or_gone(local: Place, run: str, harm: str) -> None:
    archive = home(local, run) / "local1-1.tar"
    archive.unlink() if harm == "gone" else os.truncate(archive, 100)
    answer = local.voy("pull", run, code=1)
    assert "local1-1.tar " + ("cannot be read" if harm == "gone" else "was cut off") in answer.stderr


@pytest.mark.parametrize("text", ["", "[]", '{"files": 3}', '{"node": "n", "files": {"../x": {}}}'])
def test_a_manifest_that_is_none(local: Place, run: str, text: str) -> None:
    (home(local, run) / "local1.json").write_text(text)
    assert "manifest of the results cannot be read" in local.voy("pull", run, code=1).stderr
    assert not (local.project / run).exists()


def test_names_that_lead_out_are_refused(local: Place, run: str) -> None:
    manifest = home(local, run) / "local1.json"
    told = json.loads(manifest.read_text())
    told["files"]["../../out.png"] = told["files"].pop("figures/1.png")
    manifest.write_text(json.dumps(told))
    assert "leads out of the results" in local.voy("pull", run, code=1).stderr
    with tarfile.open(local.folder(run) / "written-9-local1.tar", "w") as tar:
        tar.add(local.project / "work.py", "../../up.py")
    manifest.unlink()
    local.voy("pull", run, "-o", "a/b")
    assert not list(local.project.rglob("up.py"))


def test_a_run_without_results_says_what_to_do(local: Place) -> None:
    local.write("ok.py", "print(1)")
    run = local.finish("--", "python", "ok.py")["run"]
    answer = local.voy("pull", run, code=1)
    assert f"error: {run} has no results" in answer.stderr and "[results] save" in answer.stderr
