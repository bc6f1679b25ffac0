"""What the sites' own balance commands say. Each was read off real answers; of one not met before nothing is read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import PurePosixPath

from voyageur.allowance.model import Balance

Reader = Callable[[str, str, datetime], Iterator[Balance]]


def balances_from(command: Sequence[str], answer: str, unit: str, now: datetime) -> list[Balance]:
    """`unit` is the site's, for those that only say `h`. Empty: the answer is not one that can be read."""
    reader = _READERS.get(PurePosixPath(command[0]).name) if command else None
    return list(reader(answer, unit, now)) if reader else []


def is_readable(command: Sequence[str]) -> bool:
    return bool(command) and PurePosixPath(command[0]).name in _READERS


_SALDO = re.compile(
    r"^(?P<account>\S+)\s+(?P<start>\d{8})\s+(?P<end>\d{8})\s+(?P<total>\d+)\s+\d+\s+(?P<used>\d+)"
    r"\s+[\d.]+\s+(?P<month>\d+)\s+(?P<month_used>\d+)\s*$",
    re.MULTILINE,
)


def _saldo(answer: str, unit: str, now: datetime) -> Iterator[Balance]:
    """CINECA: a grant, and the part of it that this month may take before its jobs lose their priority."""
    for row in _SALDO.finditer(answer):
        granted, used, end = float(row["total"]), float(row["used"]), row["end"]
        yield Balance(
            account=row["account"],
            unit=unit,
            granted=granted,
            used=used,
            left=granted - used,
            until=f"{end[:4]}-{end[4:6]}-{end[6:]}",
            month=float(row["month"]) or None,
            month_used=float(row["month_used"]) if float(row["month"]) else None,
            source="saldo",
        )


_LUMI_PAIR = re.compile(r"(?P<used>\d+(?:\.\d+)?)/(?P<granted>\d+(?:\.\d+)?)\s+\(\s*[\d.]+%\)\s+(?P<kind>\S+)/hours")
_LUMI_UNITS = {"core": "core-hours", "gpu": "GPU-hours", "TB": "TB-hours"}


def _lumi_allocations(answer: str, unit: str, now: datetime) -> Iterator[Balance]:
    age = _lumi_age(answer, now)
    for line in answer.splitlines():
        project, bar, rest = line.partition("|")
        if not bar or not re.fullmatch(r"project_\d+", project.strip()):
            continue
        for pair in _LUMI_PAIR.finditer(rest):
            granted, used = float(pair["granted"]), float(pair["used"])
            yield Balance(
                account=project.strip(),
                unit=_LUMI_UNITS.get(pair["kind"], f"{pair['kind']}-hours"),
                granted=granted,
                used=used,
                left=granted - used,
                age=age,
                source="lumi-allocations",
            )


def _lumi_age(answer: str, now: datetime) -> float | None:
    found = re.search(r"Data updated: (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)", answer)
    try:
        return max(0.0, (now - datetime.strptime(found[1], "%Y-%m-%d %H:%M:%S")).total_seconds()) if found else None
    except ValueError:
        return None


_TACC_ITEM = re.compile(r"\|\s*(?P<account>[^\s|]+)\s+(?P<left>-?\d+)(?:\s+(?P<until>\d{4}-\d\d-\d\d))?\s+(?=\|)")


def _taccinfo(answer: str, unit: str, now: datetime) -> Iterator[Balance]:
    """TACC: two projects a line, between a title and the disk quotas, whose lines look much alike."""
    _, _, below = answer.partition("Project balances")
    projects, _, _ = below.partition("Disk quotas")
    for row in _TACC_ITEM.finditer(projects):
        yield Balance(account=row["account"], unit=unit, left=float(row["left"]), until=row["until"], source="taccinfo")


_DELTA = re.compile(r"^(?P<account>\S+)\s.*?\s(?P<left>-?[\d,]+(?:\.\d+)?)\s+(?P<granted>[\d,]+(?:\.\d+)?)\s*$")


def _accounts(answer: str, unit: str, now: datetime) -> Iterator[Balance]:
    """NCSA Delta: balances stand below the line of dashes."""
    _, ruler, below = answer.partition("\n-----")
    if "Balance (Hours)" not in answer or not ruler:
        return
    for line in below.splitlines()[1:]:
        if row := _DELTA.match(line.strip()):
            left, granted = (float(row[name].replace(",", "")) for name in ("left", "granted"))
            yield Balance(
                account=row["account"], unit=unit, granted=granted, used=granted - left, left=left, source="accounts"
            )


_READERS: dict[str, Reader] = {
    "saldo": _saldo,
    "lumi-allocations": _lumi_allocations,
    "lumi-workspaces": _lumi_allocations,
    "taccinfo": _taccinfo,
    "accounts": _accounts,
}
