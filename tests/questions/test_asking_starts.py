"""`sbatch --test-only`, asked politely: a pause between two questions, and one question only of who is silent."""

from __future__ import annotations

import os
import time

import pytest
from msgspec.structs import replace

from tests.plan.wishes import CLUSTER
from tests.site_commands import SiteCommands
from voyageur.hosts import Here
from voyageur.questions.shapes import ask_starts
from voyageur.site import Site
from voyageur.site.facts import Limits
from voyageur.units import Duration

ANSWER = "sbatch: Job 3 to start at 2026-11-18T19:56:50 using 32 processors on nodes bed[1-4] in partition low\n"
SCRIPTS = ["#!/bin/bash\ntrue\n"] * 3


def slow(site: Site, seconds: int) -> Site:
    return replace(site, limits=Limits(sbatch_pause=Duration(seconds)))


@pytest.fixture(autouse=True)
def on_path(site_commands: SiteCommands, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", site_commands.path(os.environ["PATH"]))


def test_a_pause_between_two_questions_as_the_site_asks(site_commands: SiteCommands) -> None:
    site_commands.say("sbatch", "", errors=ANSWER)
    for site, pauses in ((CLUSTER, [1, 1]), (slow(CLUSTER, 7), [7, 7])):
        slept: list[float] = []
        starts = list(ask_starts(Here(), site, SCRIPTS, sleep=slept.append))
        assert slept == pauses
        assert all(start.partition == "low" for start in starts)
    assert site_commands.asked("sbatch") == ["--test-only"] * 6


def test_of_a_controller_that_is_silent_nothing_more_is_asked(site_commands: SiteCommands) -> None:
    words = "allocation failure: Unable to contact slurm controller (connect failure)\n"
    site_commands.say("sbatch", "", errors=words, code=1)
    starts = list(ask_starts(Here(), CLUSTER, SCRIPTS))
    assert [start.silence for start in starts] == [words.strip()] * 3
    assert site_commands.asked("sbatch") == ["--test-only"]


def test_one_that_hangs_is_waited_for_once(site_commands: SiteCommands) -> None:
    site_commands.hang("sbatch")
    started = time.monotonic()
    starts = list(ask_starts(Here(), CLUSTER, SCRIPTS, patience=Duration(1)))
    assert time.monotonic() - started < 5
    assert [start.silence for start in starts] == ["sbatch gave no answer in time"] * 3


def test_a_refusal_of_one_shape_is_not_a_silence(site_commands: SiteCommands) -> None:
    site_commands.say("sbatch", "", errors="allocation failure: Invalid feature specification\n", code=1)
    starts = list(ask_starts(Here(), CLUSTER, SCRIPTS, sleep=lambda _: None))
    assert all(start.refusal for start in starts) and len(site_commands.asked("sbatch")) == 3
