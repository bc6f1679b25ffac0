"""FUSE mounts whose program was killed. With a real squashfuse."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from voyageur.runtime.mounts import is_mounted, let_go
from voyageur.runtime.node_folder import MARK, sweep
from voyageur.runtime.staging.mount import Mounted


@pytest.fixture
def image(tmp_path: Path) -> Path:
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "one").write_text("1")
    found = tmp_path / "image.sqfs"
    subprocess.run(["mksquashfs", tmp_path / "files", found, "-quiet", "-no-progress"], check=True)
    return found


def killed(image: Path, path: Path) -> None:
    mounted = Mounted("squashfs image", str(image), str(path))
    os.kill(mounted.process_id, 9)
    os.waitpid(mounted.process_id, 0)


def test_a_mount_is_let_go_of_although_nobody_can_look_into_it(image: Path, tmp_path: Path) -> None:
    place = tmp_path / "a place"
    killed(image, place)
    with pytest.raises(OSError, match="not connected"):
        list(place.iterdir())
    assert is_mounted(str(place))
    let_go(str(place))
    assert not is_mounted(str(place)) and list(place.iterdir()) == []


def test_the_sweep_removes_a_dead_run_with_its_mounts(image: Path, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    left = disk / f"voy-{os.getuid()}-dead"
    (left / "mnt-0" / "two words").mkdir(parents=True)
    (left / MARK).write_text("{}")
    killed(image, left / "mnt-0" / "two words")
    assert sweep(str(disk), settled=-1) == 1
    assert list(disk.iterdir()) == []
