"""How long: limits, the edges behind which the queue is longer, runs too short to be worth their start."""

from __future__ import annotations

from collections.abc import Iterator

from voyageur.findings import Finding, Level
from voyageur.rules.model import Advice, Case, Check, Rule
from voyageur.rules.reading import is_cluster, partition_of, value_of
from voyageur.site import Policy, Purpose
from voyageur.units import Duration

TIME_LIMIT = Rule(
    id="time-limit",
    numbers=(1,),
    level=Level.ERROR,
    because="a job without a time, or with more than its queue allows, is refused or waits for ever",
    fix="say how long it may take with `--time`",
    source="Alliance documentation: Running jobs",
)
TIME_TIER = Rule(
    id="time-tier",
    numbers=(2,),
    level=Level.WARNING,
    because="behind each edge fewer nodes take the job, so it waits longer",
    fix="ask for less with `--time`, and let the program go on from its checkpoint",
    source="Alliance documentation: Job scheduling policies",
)
TIME_SHORT = Rule(
    id="time-short",
    numbers=(3,),
    level=Level.WARNING,
    because="starting and cleaning up a job costs the cluster minutes, so production jobs should be longer",
    fix="put several short tasks into one job",
    source="Alliance documentation: Running jobs",
)
TIME_UNUSED = Rule(
    id="time-unused",
    numbers=(4,),
    level=Level.WARNING,
    because="a shorter job starts sooner; 5 to 10 % more than the longest run so far is enough",
    fix="ask for less with `--time`",
    source="Alliance documentation: Best practices for job submission",
)

_ABOVE = 1.25  # so much of an edge may be shaved off a wish, or be done by the next attempt
_TEST = Duration(300)
_NO_TEST = 5  # runs


def time_limit(case: Case) -> Iterator[Finding]:
    if not is_cluster(case):
        return
    times, time = case.site.times, case.plan.shape.time.value
    if value_of(case, "--time") is None and case.site.request.time is Policy.REQUIRED:
        yield TIME_LIMIT.broken(f"no time is given, and {case.site.name} wants one", source=case.site.request.source)
    elif times.maximum and time > times.maximum:
        what = f"{time} is longer than the {times.maximum} that {case.site.name} allows"
        yield TIME_LIMIT.broken(what, fix=f"`--time {times.maximum}`", source=times.source)


def time_tier(case: Case) -> Iterator[Finding]:
    time = case.plan.shape.time.value
    for edge in case.site.times.tiers:
        if edge < time and time.seconds <= edge.seconds * _ABOVE:
            what = f"{time} is just above the edge at {edge}"
            yield TIME_TIER.broken(
                what, fix=f"`--time {edge}`; `voy plan --shapes` weighs a chain", source=case.site.times.source
            )


def time_short(case: Case) -> Iterator[Finding]:
    if not is_cluster(case):
        return
    time, times, queue = case.plan.shape.time.value, case.site.times, partition_of(case)
    least = max([one for one in (times.minimum, queue.time_minimum if queue else None) if one], default=None)
    billed = case.site.accounting.minimum
    if least and time < least:
        what = f"{time} is shorter than the {least} that {case.site.name} wants at least"
        because = "a shorter job is refused"
        yield TIME_SHORT.broken(
            what, level=Level.ERROR, because=because, fix=f"`--time {least}`", source=times.source or None
        )
    elif billed and time < billed:
        what, because = f"{time} is asked for, and {billed} is billed", "no job costs less there"
        yield TIME_SHORT.broken(what, because=because, source=case.site.accounting.source)
    elif times.useful and time < times.useful and (queue is None or queue.purpose is Purpose.PRODUCTION):
        yield from _too_short_to_be_useful(case, time, times.useful)


def _too_short_to_be_useful(case: Case, time: Duration, useful: Duration) -> Iterator[Finding]:
    """Tests may be short, but not that short; what was done several times is no test any more."""
    test, done, source = case.site.times.useful_test or _TEST, len(case.known.history), case.site.times.source
    if time < test:
        what = f"{time} is less than even a test should ask for ({test})"
        yield TIME_SHORT.broken(what, fix=f"`--time {test}`", source=source)
    elif done >= _NO_TEST:
        what = f"{time}, and {done} runs of this experiment are done: production jobs should ask for {useful} or more"
        yield TIME_SHORT.broken(what, source=source)


def time_unused(case: Case) -> Iterator[Finding]:
    time, history = case.plan.shape.time.value, case.known.history
    if len(history) < 2:
        return
    longest = max(run.took for run in history)
    if time.seconds > 2 * longest.seconds and time.seconds - longest.seconds >= 3600:
        what = f"{time} is asked for, and none of the last {len(history)} runs took more than {longest}"
        yield TIME_UNUSED.broken(what, fix=f"`--time {_with_margin(longest)}`")


def _with_margin(longest: Duration) -> Duration:
    """A tenth more, in whole steps of five minutes."""
    return Duration(-(-longest.seconds * 11 // 3000) * 300)


RULES = (TIME_LIMIT, TIME_TIER, TIME_SHORT, TIME_UNUSED)
CHECKS: tuple[Check, ...] = (time_limit, time_tier, time_short, time_unused)
ADVICE: tuple[Advice, ...] = ()
