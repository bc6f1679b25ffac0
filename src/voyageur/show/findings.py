"""Findings as people read them: what, then the reason, then what to do."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from voyageur.errors import one_line
from voyageur.findings import Finding, Level
from voyageur.show.style import paint

_COLOURS = {Level.ERROR: "red", Level.WARNING: "yellow", Level.HINT: "dim"}


def finding_lines(finding: Finding, colours: bool, columns: int | None = None) -> list[str]:
    """`columns`: how wide the terminal is. In a pipe every part is one line, however long."""
    head = f"{finding.level.value}: "
    place = f"{finding.place}: " if finding.place else ""
    source = f" ({finding.source})" if finding.source else ""
    first = _wrapped(f"{head}{place}{finding.what}  [{finding.rule}]", columns, "")
    rest = [*_wrapped(finding.because + source, columns, "  "), *_wrapped(f"fix: {finding.fix}", columns, "  ")]
    return [*(paint(line, _COLOURS[finding.level], colours) for line in first), *rest]


def _wrapped(text: str, columns: int | None, indent: str) -> list[str]:
    text = one_line(text)
    if columns is None:
        return [indent + text]
    return textwrap.wrap(
        text, max(30, columns), initial_indent=indent, subsequent_indent="  ", break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip


def finding_note(finding: Finding) -> str:
    """One line, for standard error."""
    return one_line(f"{finding.level.value}: {finding.what}; fix: {finding.fix} [{finding.rule}]")


def ignored_line(ignored: Sequence[str], colours: bool) -> list[str]:
    return [paint(f"ignored: {', '.join(dict.fromkeys(ignored))}", "dim", colours)] if ignored else []


def document(findings: Iterable[Finding]) -> list[dict[str, Any]]:
    return [dict(msgspec.to_builtins(finding)) for finding in findings]
