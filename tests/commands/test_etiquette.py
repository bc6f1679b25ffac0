"""What a site asks of those who talk to its Slurm is kept, without anybody thinking of it."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import cast

import pytest

from voyageur.commands import etiquette, following, session
from voyageur.record import Entry, Run, State, Verdict
from voyageur.runs import Runs
from voyageur.site import Site, load_profile


class Clock:
    """Time that passes only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def time(self) -> float:
        return self.now

    monotonic = time


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(following, "time", clock)
    monkeypatch.setattr(etiquette, "time", clock)
    etiquette.poll_pause.cache_clear()
    return clock


class Queue:
    """A Slurm in which a job waits for a while, and who asked when."""

    def __init__(self, clock: Clock, ends: float) -> None:
        self.clock, self.ends = clock, clock.now + ends
        self.questions: list[float] = []

    def look(self, run: Run) -> tuple[Run, Verdict]:
        self.questions.append(self.clock.now)
        return run, Verdict(state=State.CANCELLED if self.clock.now >= self.ends else State.PENDING)


class Waiting:
    """A run whose folder says nothing yet."""

    def __init__(self, site: str) -> None:
        self.record = type("Record", (), {"site": site})
        self.marker, self.job = None, "7"

    def reread(self) -> Waiting:
        return self

    def last(self, *_: str) -> None:
        return None


def asked(clock: Clock, site: str, ends: float) -> list[float]:
    queue = Queue(clock, ends)
    list(following.states(cast(Runs, queue), cast(Run, Waiting(site))))
    return queue.questions


def pauses(moments: list[float]) -> list[float]:
    return [later - sooner for sooner, later in pairwise(moments)]


def test_a_site_that_wants_a_minute_between_two_questions_gets_it(clock: Clock) -> None:
    moments = asked(clock, "narval", ends=3600)
    assert min(pauses(moments)) >= 60
    assert len(moments) <= 61


def test_elsewhere_questions_become_rare_as_well(clock: Clock) -> None:
    moments = asked(clock, "slurm", ends=3600)
    assert min(pauses(moments)) >= 1
    assert len(moments) < 250


def test_a_run_of_a_profile_that_is_gone_can_still_be_followed(clock: Clock) -> None:
    assert asked(clock, "no-such-site", ends=10)


def entry(site: Site, created: float) -> Entry:
    return Entry(
        folder="/f", run="r-1", job_name="r-1", project="p", site=site.name, engine="slurm", command="c",
        created=created, state="pending",
    )  # fmt: skip


@pytest.mark.parametrize(("ago", "pause"), [(0.25, 0.75), (5.0, 0.0), (-30.0, 1.0)])
def test_two_submissions_are_a_second_apart_where_the_site_wants_it(
    clock: Clock, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ago: float, pause: float
) -> None:
    """Also when the clock of the machine that submitted before is ahead of ours: then for one pause, and no longer."""
    narval = load_profile("narval")
    monkeypatch.setattr(session, "state_folder", lambda: tmp_path)
    session.index().add([entry(narval, clock.now - ago)])
    before = clock.now
    etiquette.pause_before_submit(narval)
    assert clock.now - before == pytest.approx(pause)


def test_no_pause_where_nobody_asks_for_one(clock: Clock, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    daint = load_profile("daint")
    monkeypatch.setattr(session, "state_folder", lambda: tmp_path)
    session.index().add([entry(daint, clock.now)])
    before = clock.now
    etiquette.pause_before_submit(daint)
    assert clock.now == before
