"""What a run used. A mock: no machine that runs these tests has a GPU, so a small script stands for nvidia-smi."""

import os
import time
from pathlib import Path

import pytest

from voyageur.runtime.usage import Usage, of_all_nodes, on_one_node


def readings(folder: Path, *lines: str) -> None:
    """A tool that answers the first reading first, and keeps to the last one."""
    (folder / "readings").write_text("".join(f"{line}\n" for line in lines))
    tool = folder / "nvidia-smi"
    tool.write_text(
        f'#!/bin/bash\nfile={folder}/readings\nhead -n 1 "$file"\n[ "$(wc -l < "$file")" = 1 ] || sed -i 1d "$file"\n'
    )
    tool.chmod(0o755)


def test_a_sample_counts_for_the_time_before_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    readings(tmp_path, "0, 100", "90, 2000")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    usage = Usage()
    for moment in (1005.0, 1010.0, 1030.0):  # each answer is read with the next question
        now[0] = moment
        usage.sample(os.getpid())
        until_answered(usage)
    facts = usage.facts()
    assert facts["gpu_utilization"] == 72.0
    assert facts["gpu_peak_memory"] == 2000 * 2**20
    assert facts["peak_memory"] > 2**20 and facts["samples"] == 3


def until_answered(usage: Usage) -> None:
    asked = usage.gpus._asked
    assert asked
    asked.wait(10)


def test_a_tool_that_does_not_answer_holds_nothing_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = tmp_path / "nvidia-smi"
    tool.write_text("#!/bin/bash\nexec sleep 60\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    usage, begin = Usage(), time.monotonic()
    for _ in range(3):
        usage.sample(os.getpid())
    assert time.monotonic() - begin < 10
    assert usage.gpus.pid and "gpu_utilization" not in usage.facts()
    os.kill(usage.gpus.pid, 9)


@pytest.mark.parametrize("line", ["[N/A], [N/A]", "", "No devices were found"])
def test_a_gpu_that_says_nothing_is_not_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str) -> None:
    readings(tmp_path, line)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    usage = Usage()
    usage.sample(os.getpid())
    until_answered(usage)
    usage.sample(os.getpid())
    assert "gpu_utilization" not in usage.facts()


def test_tasks_of_a_node_add_up_and_the_fullest_node_counts() -> None:
    task = {"cpu_seconds": 2.0, "peak_memory": 10, "samples": 1, "gpu_utilization": 50.0, "gpu_peak_memory": 5}
    idle = {"cpu_seconds": 1.0, "peak_memory": 1, "samples": 1, "gpu_utilization": 0.0, "gpu_peak_memory": 1}
    full = on_one_node([task, task])
    assert (full["cpu_seconds"], full["peak_memory"], full["gpu_utilization"]) == (4.0, 20, 50.0)
    run = of_all_nodes([full, on_one_node([idle])])
    assert (run["cpu_seconds"], run["peak_memory"], run["gpu_utilization"]) == (5.0, 20, 25.0)
    assert run["gpu_peak_memory"] == 5


def test_a_run_whose_nodes_all_died_used_nothing_that_is_known() -> None:
    assert of_all_nodes([])["samples"] == 0
