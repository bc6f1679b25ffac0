"""Findings as people read them: file by file, what is wrong, why, and what to write instead."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from voyageur.errors import one_line
from voyageur.findings import Finding, Level
from voyageur.show.style import paint

_COLOURS = {Level.ERROR: "red", Level.WARNING: "yellow", Level.HINT: "cyan"}
_INDENT = "  "


def findings_text(
    findings: Sequence[Finding], site: str, ignored: int, colours: bool, columns: int | None = None
) -> str:
    """`columns`: how wide the terminal is. In a pipe nothing is wrapped."""
    lines: list[str] = []
    for level, group in groupby(findings, key=lambda finding: finding.level):
        for finding in group:
            lines += [*_finding(finding, level, colours, columns), ""]
    return "\n".join([*lines, summary(findings, site, ignored, colours)])


def finding_lines(finding: Finding, colours: bool, columns: int | None = None) -> list[str]:
    """Of a plan: there is no file to name, so what is wrong comes first."""
    source = f" ({finding.source})" if finding.source else ""
    head = _wrapped(f"{finding.level.value}: ", finding.what + f" [{finding.rule}]", columns, "")
    return [
        *(paint(line, _COLOURS[finding.level], colours) for line in head),
        *_paragraph("why: ", finding.because + source, columns),
        *_paragraph("fix: ", finding.fix, columns),
    ]


def advice_lines(advice: Sequence[Finding], site: str, colours: bool, columns: int | None = None) -> list[str]:
    """What nobody has broken yet, in a line each; nothing where there is nothing to say."""
    if not advice:
        return []
    lines = (line for told in advice for line in _wrapped("", f"{told.what}; {told.fix} [{told.rule}]", columns, "  "))
    return ["", paint(f"good to know about {site}:", "bold", colours), *lines]


def finding_note(finding: Finding) -> str:
    """One line, for standard error."""
    return one_line(f"{finding.level.value}: {finding.what}; fix: {finding.fix} [{finding.rule}]")


def ignored_line(ignored: Sequence[str], colours: bool) -> list[str]:
    return [paint(f"ignored: {', '.join(ignored)}", "dim", colours)] if ignored else []


def _finding(finding: Finding, level: Level, colours: bool, columns: int | None) -> list[str]:
    word = paint(level.value, _COLOURS[level], colours)
    place = paint(one_line(finding.place), "bold", colours)
    rule = paint(f"[{finding.rule}]", "dim", colours)
    head = " ".join(part for part in (f"{word}:", place, rule) if part)
    return [
        head,
        *_paragraph("", finding.what, columns),
        *_paragraph("why: ", finding.because, columns),
        *_paragraph("fix: ", finding.fix, columns),
    ]


def _paragraph(title: str, text: str, columns: int | None) -> list[str]:
    return _wrapped(title, text, columns, _INDENT)


def _wrapped(title: str, text: str, columns: int | None, indent: str) -> list[str]:
    whole = title + one_line(text)
    if columns is None:
        return [indent + whole]
    return textwrap.wrap(
        whole, max(40, columns), initial_indent=indent, subsequent_indent=indent + " " * len(title),
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def summary(findings: Sequence[Finding], site: str, ignored: int, colours: bool) -> str:
    counts = counts_of(findings)
    parts = [f"{count} {level}{'' if count == 1 else 's'}" for level, count in counts.items() if count]
    hidden = f" ({ignored} ignored)" if ignored else ""
    if not parts:
        return paint(f"ready for {site}: nothing found{hidden}", "green", colours)
    colour = "red" if counts["error"] else "yellow" if counts["warning"] else "green"
    return paint(
        f"{'not ready' if counts['error'] else 'ready'} for {site}: {', '.join(parts)}{hidden}", colour, colours
    )


def counts_of(findings: Sequence[Finding]) -> dict[str, int]:
    return {level.value: sum(finding.level is level for finding in findings) for level in Level}


def document(findings: Sequence[Finding], site: str, ignored: int) -> dict[str, Any]:
    counts = counts_of(findings)
    return {
        "site": site,
        "ready": not counts["error"],
        "counts": counts,
        "ignored": ignored,
        "findings": records(findings),
    }


def records(findings: Sequence[Finding]) -> list[dict[str, Any]]:
    return [
        {
            "rule": finding.rule,
            "level": finding.level.value,
            "what": finding.what,
            "because": finding.because,
            "fix": finding.fix,
            "source": finding.source,
            "file": finding.file,
            "line": finding.line,
        }
        for finding in findings
    ]
