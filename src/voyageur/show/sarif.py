"""Findings as SARIF 2.1.0, which editors and code hosts read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from voyageur import __version__
from voyageur.findings import Finding, Level
from voyageur.rules.model import Rule

_LEVELS = {Level.ERROR: "error", Level.WARNING: "warning", Level.HINT: "note"}


def sarif_document(findings: Sequence[Finding], rules: Mapping[str, Rule]) -> dict[str, Any]:
    broken = sorted({finding.rule for finding in findings})
    driver = {"name": "voyageur", "version": __version__, "rules": [_rule(name, rules.get(name)) for name in broken]}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(finding, broken.index(finding.rule)) for finding in findings],
    }
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [run],
    }


def _rule(name: str, rule: Rule | None) -> dict[str, Any]:
    described: dict[str, Any] = {"id": name, "shortDescription": {"text": name.replace("-", " ")}}
    if rule is not None:
        described["fullDescription"] = {"text": rule.because}
        described["help"] = {"text": f"{rule.fix}\nSource: {rule.source}" if rule.source else rule.fix}
        described["defaultConfiguration"] = {"level": _LEVELS[rule.level]}
        described["properties"] = {"numbers": list(rule.numbers)}
    return described


def _result(finding: Finding, index: int) -> dict[str, Any]:
    return {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": _LEVELS[finding.level],
        "message": {"text": f"{finding.what}\nWhy: {finding.because}\nFix: {finding.fix}"},
        "locations": [_location(finding)] if finding.file else [],
    }


def _location(finding: Finding) -> dict[str, Any]:
    name = quote((finding.file or "").encode("utf-8", "surrogateescape"))
    physical: dict[str, Any] = {"artifactLocation": {"uri": name, "uriBaseId": "%SRCROOT%"}}
    if finding.line:
        physical["region"] = {"startLine": finding.line}
    return {"physicalLocation": physical}
