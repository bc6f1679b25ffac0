"""A project on scratch, or scratch in a project: what runs write there is no code of the next one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.place import Place
from tests.snapshot.test_snapshots import git, write
from voyageur.snapshot import OwnFiles, gather, own_files
from voyageur.spec import Snapshot

TRAIN = ("--", "python", "train.py")


def stored_code(place: Place) -> list[Path]:
    return sorted(place.root.rglob("hpc_outputs/.code/*.tar"))


@pytest.mark.parametrize("has_git", [True, False])
def test_a_project_that_lies_on_scratch_packs_no_run(local: Place, has_git: bool) -> None:
    local.project = local.scratch / "weather"
    local.write("train.py", "import os; open(os.environ['VOY_CHECKPOINTS'] + '/model.txt', 'a').write('x')")
    if has_git:
        git(local.project, "init", "-q")
    for _ in range(3):
        local.voy("run", *TRAIN)
    assert len(stored_code(local)) == 1
    listed = local.voy("plan", "--files", *TRAIN).stdout
    assert listed.startswith("1 files travel")
    assert "  hpc_outputs/  a run's own files" in listed
    assert "  train/checkpoints/  a run's own files" in listed


@pytest.mark.parametrize("scratch", ["out", "."])
def test_scratch_inside_the_project_does_not_travel(local: Place, scratch: str) -> None:
    local.write("train.py", "import os; open(os.environ['VOY_CHECKPOINTS'] + '/model.txt', 'a').write('x')")
    for _ in range(2):
        local.voy("run", "--scratch", scratch, *TRAIN)
    assert len(stored_code(local)) == 1
    listed = local.voy("plan", "--files", "--scratch", scratch, *TRAIN).stdout
    assert listed.startswith("1 files travel")
    assert "a run's own files" in listed


def test_a_link_to_scratch_is_seen_through(tmp_path: Path) -> None:
    root, link = tmp_path / "disk" / "weather", tmp_path / "scratch"
    root.mkdir(parents=True)
    link.symlink_to(tmp_path / "disk")
    assert own_files(root, scratch=link, project_scratch=link / "weather") == OwnFiles(among_code=True)
    inside = own_files(root, scratch=link / "weather" / "o", project_scratch=link / "weather" / "o" / "x")
    assert inside.folders == ("o", "o/x")


def test_a_package_called_checkpoints_travels(tmp_path: Path) -> None:
    write(tmp_path, "model/checkpoints/io.py", "model/checkpoints/old.txt", "train.py")
    found = gather(tmp_path, Snapshot(), OwnFiles(among_code=True)).selection
    assert found.files == ("model/checkpoints/io.py", "train.py")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    assert "model/checkpoints/old.txt" in gather(tmp_path, Snapshot(), OwnFiles(among_code=True)).selection.files


def test_runs_do_not_travel_although_a_pattern_fits_them(tmp_path: Path) -> None:
    write(tmp_path, "train.py", "old/hpc_outputs/train-0001/run.json", "settings.json")
    found = gather(tmp_path, Snapshot(include=("*.json",))).selection
    assert found.files == ("settings.json", "train.py")
    assert [(item.name, item.because) for item in found.left_out] == [("old/hpc_outputs/", "a run's own files")]


@pytest.mark.parametrize("has_git", [True, False])
@pytest.mark.parametrize("image", ["image", "image.sqsh"])
def test_a_containers_image_in_the_project_is_no_code(local: Place, image: str, has_git: bool) -> None:
    local.write("train.py", "print()")
    if image == "image":
        local.write("image/bin/sh", "")
    else:
        local.write(image, "hsqs".ljust(96, "\0"))
    if has_git:
        git(local.project, "init", "-q")
    local.write("voyageur.toml", f'[env]\nimage = "{image}"\nruntime = "charliecloud"\n')
    listed = local.voy("plan", "--files", *TRAIN).stdout
    assert listed.startswith("2 files travel"), listed
    assert "the container's image: it comes to the nodes by itself" in listed
