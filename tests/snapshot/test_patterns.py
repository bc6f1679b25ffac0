"""What a pattern of [snapshot] names."""

from pathlib import Path

import pytest

from tests.snapshot.test_snapshots import git, write
from voyageur.snapshot import gather
from voyageur.snapshot.patterns import matches
from voyageur.spec import Snapshot


@pytest.mark.parametrize(
    ("pattern", "named", "not_named"),
    [
        ("data", ["data/a.csv", "src/data/x.csv", "src/data", "data"], ["src/mydata/x.csv", "database.py"]),
        ("/data", ["data/a.csv", "data"], ["src/data/x.csv"]),
        ("/data/", ["data/a.csv"], ["src/data/x.csv"]),
        ("./a.csv", ["a.csv"], ["b.csv"]),
        ("*.csv", ["a.csv", "b/c/a.csv"], ["a.csvx"]),
        ("**/*.csv", ["a.csv", "b/c/a.csv"], ["a.txt"]),
        ("data/**", ["data/a", "data/b/c"], ["date/a"]),
        ("data/**/x.py", ["data/x.py", "data/a/b/x.py"], ["x.py"]),
        ("weights/small.pt", ["weights/small.pt", "a/weights/small.pt"], ["small.pt", "weights/small.ptx"]),
        ("[ab].py", ["a.py", "x/b.py"], ["c.py"]),
        ("two\nlines", ["two\nlines/a"], ["two"]),
    ],
)
def test_what_a_pattern_names(pattern: str, named: list[str], not_named: list[str]) -> None:
    assert [name for name in [*named, *not_named] if matches(name, (pattern,))] == named


@pytest.mark.parametrize("pattern", ["/local.yaml", "./local.yaml", "local.yaml", "**/local.yaml"])
def test_the_project_may_insist_on_what_git_ignores_however_it_writes_it(tmp_path: Path, pattern: str) -> None:
    write(tmp_path, ".gitignore", content="local.yaml\n")
    write(tmp_path, "local.yaml", "train.py")
    git(tmp_path, "init", "-q")
    assert "local.yaml" in gather(tmp_path, Snapshot(include=(pattern,))).selection.files


@pytest.mark.parametrize("has_git", [True, False])
def test_a_pattern_that_names_nothing_is_pointed_out(tmp_path: Path, has_git: bool) -> None:
    write(tmp_path, "train.py", "data/a.csv", ".venv/x", "wandb/log")
    write(tmp_path, ".gitignore", content="data\n")
    if has_git:
        git(tmp_path, "init", "-q")
    wish = Snapshot(include=("trian.py",), exclude=("dtaa", "data", "*.tmp", ".venv", "wandb"))
    assert gather(tmp_path, wish).selection.notes == (
        "snapshot.include: `trian.py` matches no file of the project",
        "snapshot.exclude: `dtaa` matches no file of the project",
        "snapshot.exclude: `*.tmp` matches no file of the project",
    )
