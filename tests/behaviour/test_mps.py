"""Copies on one GPU under MPS, with a mock of its control program."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tests.mps_control import put_control
from tests.place import Place

COPY = """
import os, sys, time
name = os.environ["VOY_COPY"]
time.sleep({"0": 0, "1": 1.5, "2": 0.2}[name])
place = os.environ.get("CUDA_MPS_PIPE_DIRECTORY", "")
print("copy", name, "gpu", os.environ.get("CUDA_VISIBLE_DEVICES"), "shares", os.path.exists(place + "/control"))
sys.exit(int(name == "2"))
"""


@pytest.fixture
def story(production: Place) -> Path:
    """What the control program did; a tool of the user's own, found by the login shell."""
    tools = production.root / "tools"
    tools.mkdir()
    put_control(tools)
    story = production.root / "story"
    (production.home / ".bash_profile").write_text(f"export PATH={tools}:$PATH MPS_STORY={story}\n")
    production.write("copy_.py", COPY)
    return story


COPIES = ("-W", "replicas", "--gpus", "2", "--tasks", "3", "--", "python3", "copy_.py")


def test_copies_share_gpus_by_a_control_of_their_own_that_ends_after_the_last(production: Place, story: Path) -> None:
    ended = production.finish(*COPIES)
    log = production.log(ended["run"])
    assert ended["because"].startswith("rank 2 on "), ended["because"]
    for copy in range(3):
        assert f"copy {copy} gpu {copy % 2} shares True" in log, log
    begin, end = story.read_text().splitlines()
    place = begin.split()[1]
    assert begin.split()[2:] == ["700", "0,1"] and end == "quit"
    assert not Path(place).exists() and production.node_folders() == []
    assert [event["by"] for event in ended["events"] if event["event"] == "gpus shared"] == ["MPS"]


def test_one_that_does_not_come_up_is_told_and_done_without(production: Place, story: Path) -> None:
    tool = production.root / "tools" / "nvidia-cuda-mps-control"
    tool.write_text('#!/bin/bash\necho "not permitted here" >"$CUDA_MPS_LOG_DIRECTORY/control.log"\nexit 1\n')
    ended = production.finish(*COPIES)
    log = production.log(ended["run"])
    assert log.count("shares False") == 3
    assert "MPS is not used: nvidia-cuda-mps-control does not come up: not permitted here" in log


def test_a_cancelled_run_leaves_no_control_behind(production: Place, story: Path) -> None:
    production.write("copy_.py", "import time\nprint('begun', flush=True)\ntime.sleep(300)\n")
    run = production.submit(*COPIES)
    production.until(lambda: production.log(run).count("begun") == 3)
    place = Path(story.read_text().split()[1])
    production.voy("cancel", run)
    production.wait(run, code=1)
    production.until(lambda: not place.exists() and not _running_below(place))


def _running_below(place: Path) -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if os.fsencode(place) in path.read_bytes():
                found.append(path.parent.name)
        except OSError:
            continue
    return found


def test_the_last_task_of_a_step_that_fails_is_not_waited_for(production: Place, story: Path) -> None:
    """With ranks that wait for each other, the first would else wait for those that wait for it."""
    production.write("rank.py", "import os, sys, time\nsys.exit(3) if os.environ['RANK'] == '0' else time.sleep(200)\n")
    production.write("voyageur.toml", "[launch]\nmps = true\n")
    began = time.monotonic()
    ended = production.finish("-W", "per-rank", "--gpus", "1", "--tasks", "2", "--", "python3", "rank.py")
    assert ended["because"].startswith("rank 0 on "), ended["because"]
    assert time.monotonic() - began < 60
