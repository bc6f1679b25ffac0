"""What the rules about requests and sites say of a case."""

from __future__ import annotations

from voyageur.findings import Finding
from voyageur.rules.model import Case


def judge(case: Case) -> tuple[Finding, ...]:
    return ()
