"""Files are counted by ourselves where no tool counts them."""

import os
import time
from pathlib import Path
from typing import Any

import pytest

from voyageur.questions.counting import count_files
from voyageur.units import Duration


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name, number in (("images", 300), ("labels", 40), ("few", 2)):
        folder = tmp_path / name / "deep" / "down"
        folder.mkdir(parents=True)
        for count in range(number):
            (folder / f"{count}.txt").touch()
    (tmp_path / "top.txt").touch()
    (tmp_path / "loop").symlink_to(tmp_path)
    return tmp_path


def test_files_folders_and_where_most_of_them_are(tree: Path) -> None:
    count = count_files(str(tree))
    assert (count.files, count.folders, count.complete) == (300 + 40 + 2 + 2, 10, True)
    assert count.most[:2] == (("images", 303), ("labels", 43))


def test_as_many_as_find_counts(tree: Path) -> None:
    inodes = sum(len(folders) + len(files) for _, folders, files in os.walk(tree)) + 1
    assert count_files(str(tree)).inodes == inodes


def test_a_folder_that_may_not_be_read_makes_it_a_lower_bound(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root may read everything, so that the system call says no is acted here."""
    real = os.scandir

    def closed(folder: Any) -> Any:
        if str(folder).endswith("few"):
            raise PermissionError(13, "Permission denied", str(folder))
        return real(folder)

    monkeypatch.setattr(os, "scandir", closed)
    count = count_files(str(tree))
    assert (count.complete, count.closed) == (False, 1)


def test_a_file_system_that_hangs_costs_no_more_than_the_time_given(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.scandir

    def hanging(folder: Any) -> Any:
        if str(folder).endswith("images"):
            time.sleep(30)
        return real(folder)

    monkeypatch.setattr(os, "scandir", hanging)
    told: list[int] = []
    started = time.monotonic()
    count = count_files(str(tree), Duration(1), told.append)
    assert time.monotonic() - started < 5
    assert (count.complete, count.files) == (False, 44)
    assert told and told[-1] <= count.inodes
