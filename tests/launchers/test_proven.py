"""What `make test` leaves to `make test-launchers`, and for how long."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.launchers import proven
from tests.launchers.test_launchers import STYLES


def test_a_style_counts_as_proven_until_one_of_its_files_changes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for folder in ("src/voyageur/launch", "examples/spark"):
        shutil.copytree(proven.ROOT / folder, tmp_path / folder)
    monkeypatch.setattr(proven, "ROOT", tmp_path)
    monkeypatch.setattr(proven, "PROVEN", tmp_path / "proven.json")
    proven.PROVEN.write_text("{}")
    assert not proven.is_proven("spark")
    proven.PROVEN.write_text(json.dumps({"spark": proven.digest("spark")}))
    assert proven.is_proven("spark")
    for name in ("src/voyageur/launch/dask.py", "examples/spark/README.md"):
        (tmp_path / name).write_text("another's, or only words\n")
    assert proven.is_proven("spark")
    for name in ("src/voyageur/launch/spark.py", "examples/spark/count.py"):
        text = (tmp_path / name).read_text()
        (tmp_path / name).write_text(f"{text}\n")
        assert not proven.is_proven("spark")
        (tmp_path / name).write_text(text)


def test_only_large_styles_are_left_out() -> None:
    assert set(proven.LARGE) <= set(STYLES)
    assert set(json.loads(proven.PROVEN.read_text())) <= set(proven.LARGE)
