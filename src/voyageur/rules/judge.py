"""All rules, and what a wish breaks of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from voyageur.findings import Finding
from voyageur.rules import amounts, conduct, disks, files, flags, load, request, software, spending, times
from voyageur.rules.model import Advice, Case, Check, Rule
from voyageur.rules.project import PROJECT_RULES
from voyageur.site import Site


class Topic(Protocol):
    """A file of rules: what they say, and the functions that look whether they are kept."""

    @property
    def RULES(self) -> tuple[Rule, ...]: ...  # noqa: N802 # a constant of the file
    @property
    def CHECKS(self) -> tuple[Check, ...]: ...  # noqa: N802
    @property
    def ADVICE(self) -> tuple[Advice, ...]: ...  # noqa: N802


TOPICS: tuple[Topic, ...] = (times, request, flags, amounts, load, files, disks, software, conduct, spending)


def all_rules() -> tuple[Rule, ...]:
    """Those of plans and sites, and those of a project's files, which `readiness` looks for."""
    return (*(rule for topic in TOPICS for rule in topic.RULES), *PROJECT_RULES)


def rule(id: str) -> Rule | None:
    return next((rule for rule in all_rules() if rule.id == id), None)


def judge(case: Case, ignored: Sequence[str] = ()) -> tuple[Finding, ...]:
    """What this wish breaks, errors first."""
    return _sorted((found for topic in TOPICS for check in topic.CHECKS for found in check(case)), ignored)


def advice(site: Site, ignored: Sequence[str] = ()) -> tuple[Finding, ...]:
    """What everybody should know who works there, whatever they wish; for `voy check` and `voy site show`."""
    return _sorted((found for topic in TOPICS for advise in topic.ADVICE for found in advise(site)), ignored)


def _sorted(findings: Iterable[Finding], ignored: Sequence[str]) -> tuple[Finding, ...]:
    kept = (found for found in findings if found.rule not in ignored)
    return tuple(sorted(kept, key=lambda found: found.level.rank))
