"""What a program is told that works under MPS, with a mock of its control program."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.mps_control import put_control
from voyageur.runtime import mps

Maker = Callable[..., mps.Mps]


def pause(seconds: float) -> bool:
    time.sleep(seconds)
    return True


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Maker]:
    put_control(tmp_path)
    every: list[mps.Mps] = []

    def make(**more: str) -> mps.Mps:
        path, story = f"{tmp_path}:{os.environ['PATH']}", str(tmp_path / "story")
        every.append(mps.Mps({"VOY_MPS": "auto", "PATH": path, "MPS_STORY": story, **more}, str(tmp_path), first=True))
        return every[-1]

    yield make
    for one in every:
        one.end(pause, 0.0)


def test_no_gpu_is_hidden_where_nobody_has_said_which_there_are(made: Maker) -> None:
    """An empty CUDA_VISIBLE_DEVICES would hide them all, and the program would work on the CPU without a word."""
    assert list(made().variables(pause)) == ["CUDA_MPS_PIPE_DIRECTORY"]


@pytest.mark.parametrize(("given", "told"), [("2,3", "0,1"), ("0", "0"), ("GPU-8f2c,GPU-91aa", None), ("", None)])
def test_gpus_are_counted_from_0_among_those_that_the_control_has(made: Maker, given: str, told: str | None) -> None:
    assert made(CUDA_VISIBLE_DEVICES=given).variables(pause).get("CUDA_VISIBLE_DEVICES") == told


def test_it_is_not_used_where_a_program_would_see_no_gpu(made: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mps, "_CLIENT", "import sys; sys.exit(100)")
    one = made()
    assert one.variables(pause) == {} and not one.runs
    assert one.problem == "a program sees no GPU through it (CUDA error 100)"
