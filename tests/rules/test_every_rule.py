"""Each rule, once broken and once kept. A rule without both is a failure of this file."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tests.rules import of_amounts, of_conduct, of_files, of_requests
from tests.rules.cases import Judged, Trial, case, request
from voyageur.findings import Finding, Level
from voyageur.rules import advice, all_rules, judge
from voyageur.rules.project import PROJECT_RULES
from voyageur.site import Policy, Site

pytest_plugins = ["tests.golden"]
Golden = Callable[[str, str], None]

TRIALS = [*of_requests.TRIALS, *of_amounts.TRIALS, *of_files.TRIALS, *of_conduct.TRIALS]
OF_PLANS = [rule for rule in all_rules() if rule not in PROJECT_RULES]


def findings(judged: Judged, *ignored: str) -> tuple[Finding, ...]:
    return advice(judged, ignored) if isinstance(judged, Site) else judge(judged, ignored)


def of_rule(rule: str, judged: Judged) -> list[Finding]:
    return [found for found in findings(judged) if found.rule == rule]


def named(trial: Trial) -> str:
    return f"{trial.rule}, {trial.how}"


@pytest.mark.parametrize("trial", TRIALS, ids=named)
def test_a_rule_is_broken_by_one_and_kept_by_its_like(trial: Trial) -> None:
    found = of_rule(trial.rule, trial.breaks)
    assert len(found) == 1, found
    assert found[0].what and found[0].because and found[0].fix and found[0].source
    assert of_rule(trial.rule, trial.keeps) == []


@pytest.mark.parametrize("trial", TRIALS, ids=named)
def test_an_ignored_rule_is_silent_and_no_other_is(trial: Trial) -> None:
    left = findings(trial.breaks, trial.rule)
    assert left == tuple(found for found in findings(trial.breaks) if found.rule != trial.rule)


def test_every_rule_has_its_trial() -> None:
    assert {trial.rule for trial in TRIALS} == {rule.id for rule in OF_PLANS}


def test_every_number_of_the_collection_is_some_rule_s() -> None:
    assert {number for rule in all_rules() for number in rule.numbers} == set(range(1, 63))


def test_ids_are_words_and_each_is_one_rule_s() -> None:
    ids = [rule.id for rule in all_rules()]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", id) for id in ids)


def test_nothing_is_worse_than_its_rule_says() -> None:
    """Milder where a fact makes it so. Only a job below the least time is worse than one that is merely short."""
    levels = {rule.id: rule.level for rule in all_rules()}
    worse = [
        named(one)
        for one in TRIALS
        for found in of_rule(one.rule, one.breaks)
        if found.level.rank < levels[one.rule].rank
    ]
    assert worse == ["time-short, below the least"]


def test_errors_come_first() -> None:
    both = request(memory=Policy.FORBIDDEN, account_form="aip-.+")
    levels = [found.level for found in judge(case(both, memory="10G", account="x", env__modules=["a"]))]
    assert levels == sorted(levels, key=lambda level: level.rank)
    assert set(levels) == {Level.ERROR, Level.WARNING}


def test_what_is_said(golden: Golden) -> None:
    """All messages, as a reader meets them."""
    lines = []
    for trial in TRIALS:
        for found in of_rule(trial.rule, trial.breaks):
            lines += [
                f"{trial.rule} ({trial.how})",
                f"  {found.level.value}: {found.what}",
                f"  why: {found.because} ({found.source})",
                f"  fix: {found.fix}",
                "",
            ]
    golden("messages.txt", "\n".join(lines))
