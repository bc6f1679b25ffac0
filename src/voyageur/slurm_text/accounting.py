"""sacct."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime

from voyageur.slurm_text.jobs import JobRow, state_word

_ACCOUNTING_FIELDS = ("JobIDRaw", "JobName", "State", "NodeList", "End", "DerivedExitCode", "ExitCode")


def accounting_argv(jobs: Iterable[str], since: datetime, mark: str) -> list[str]:
    """sacct starts its day at midnight unless told otherwise, and hides the rows of requeued attempts without -D."""
    return ["sacct", "--jobs", ",".join(jobs), *_accounting_words(since, mark)]


def accounting_by_name_argv(names: Iterable[str], since: datetime, mark: str) -> list[str]:
    """Without --state, sacct leaves out jobs that were cancelled before they could start."""
    return [
        *("sacct", "--name", ",".join(names), "--state", _ALL_STATES, "--endtime", "now"),
        *_accounting_words(since, mark),
    ]


def _accounting_words(since: datetime, mark: str) -> list[str]:
    return [
        *("--noheader", "--parsable2", f"--delimiter={mark}", "--duplicates"),
        *("--starttime", since.strftime("%Y-%m-%dT%H:%M:%S"), "--format", ",".join(_ACCOUNTING_FIELDS)),
    ]


def accounting_rows(answer: str, mark: str) -> list[JobRow]:
    """The first and the last column hold no free text, so a newline between them always ends a row."""
    cells = answer.split(mark)
    width = len(_ACCOUNTING_FIELDS) - 1
    rows, first = [], cells[0]
    for start in range(1, len(cells) - width + 1, width):
        *middle, last = cells[start : start + width]
        exit_text, _, following = last.partition("\n")
        name, state, nodes, end, derived = middle
        rows.append(_accounting_row(first, name, state, nodes, end, derived, exit_text))
        first = following
    return rows


def _accounting_row(job: str, name: str, state: str, nodes: str, end: str, derived: str, exit_text: str) -> JobRow:
    number, _, step = job.strip().rpartition("\n")[2].partition(".")
    code, signal = _exit_pair(exit_text)
    if (code, signal) == (0, 0):
        code, signal = _exit_pair(derived)
    return JobRow(
        job=number,
        step=step,
        name=name,
        state=state_word(state),
        node_list=nodes,
        exit_code=code,
        signal=signal,
        ended=end.strip() not in ("", "Unknown", "None"),
    )


def _exit_pair(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d+):(\d+)", text.strip())
    return (int(match[1]), int(match[2])) if match else (0, 0)


_ALL_STATES = "BF,CA,CD,DL,F,NF,OOM,PD,PR,R,RQ,RS,RV,S,TO"


def find_in_accounting_argv(name: str, since: datetime) -> list[str]:
    """Without --state, sacct leaves out jobs that were cancelled before they could start."""
    return [
        "sacct",
        "--noheader",
        "--parsable2",
        "--allocations",
        f"--name={name}",
        "--state",
        _ALL_STATES,
        "--starttime",
        since.strftime("%Y-%m-%dT%H:%M:%S"),
        "--endtime",
        "now",
        "--format",
        "JobIDRaw,State,NodeList",
    ]
