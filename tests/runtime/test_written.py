"""What a program wrote beside its code is kept, as far as it fits."""

import os
import tarfile
import time
from pathlib import Path

import pytest

from voyageur.runtime.written import keep_written


@pytest.fixture
def code(tmp_path: Path) -> Path:
    folder = tmp_path / "code"
    (folder / "package").mkdir(parents=True)
    (folder / "package" / "model.py").write_text("frozen")
    (folder / "settings.json").write_text("frozen")
    return folder


def unpacked(tmp_path: Path) -> int:
    """Now, by the clock that stamps files; it ticks slowly."""
    stamp = tmp_path / "stamp"
    stamp.touch()
    time.sleep(0.02)
    return stamp.stat().st_ctime_ns


def names(archive: Path) -> list[str]:
    with tarfile.open(archive) as tar:
        return tar.getnames()


def test_new_and_changed_files_are_kept_and_nothing_else(code: Path, tmp_path: Path) -> None:
    then, archive = unpacked(tmp_path), tmp_path / "written.tar"
    (code / "out").mkdir()
    (code / "out" / "weights.pt").write_bytes(b"w" * 100)
    (code / "settings.json").write_text("changed")
    (code / "package" / "__pycache__").mkdir()
    (code / "package" / "__pycache__" / "model.pyc").write_text("no work of anybody's")
    written = keep_written(str(code), then, str(archive), 1000)
    assert written and written.kept == ["out/weights.pt", "settings.json"] and written.lost == []
    assert names(archive) == ["out/weights.pt", "settings.json"]
    assert archive.stat().st_mode & 0o777 == 0o600
    assert "out/weights.pt, settings.json" in written.sentence() and str(archive) in written.sentence()


def test_a_program_that_wrote_nothing_leaves_nothing(code: Path, tmp_path: Path) -> None:
    archive = tmp_path / "written.tar"
    assert keep_written(str(code), unpacked(tmp_path), str(archive), 1000) is None
    assert not archive.exists()


def test_what_does_not_fit_is_named(code: Path, tmp_path: Path) -> None:
    then, archive = unpacked(tmp_path), tmp_path / "written.tar"
    (code / "huge.bin").write_bytes(b"h" * 2000)
    (code / "small.csv").write_text("1,2")
    written = keep_written(str(code), then, str(archive), 1000)
    assert written and (written.kept, written.lost) == (["small.csv"], ["huge.bin"])
    assert "LOST, too large to keep: huge.bin" in written.sentence()


def test_links_and_pipes_do_not_hold_it_up(code: Path, tmp_path: Path) -> None:
    then, archive = unpacked(tmp_path), tmp_path / "written.tar"
    (code / "latest").symlink_to("/etc/hostname")
    os.mkfifo(code / "pipe")
    (code / "log.txt").write_text("x")
    written = keep_written(str(code), then, str(archive), 1000)
    assert written is not None
    with tarfile.open(archive) as tar:
        assert tar.getnames() == ["latest", "log.txt"] and tar.getmember("latest").issym()


def test_a_full_disk_is_a_loss_that_is_told(code: Path, tmp_path: Path) -> None:
    then = unpacked(tmp_path)
    (code / "log.txt").write_text("x")
    written = keep_written(str(code), then, "/dev/full/written.tar", 1000)
    assert written and written.kept == [] and "LOST: log.txt" in written.sentence()
