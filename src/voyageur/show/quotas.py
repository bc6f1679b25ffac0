"""How full things are, as people read it and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from voyageur.allowance import Quota
from voyageur.errors import one_line
from voyageur.show.style import paint, table
from voyageur.site import Place, Use
from voyageur.units import Size

ALARM = 0.9
_LONGEST = 60  # lines of an answer that nobody could read
_HEAD = ("PLACE", "OWNER", "BYTES", "FULL", "FILES", "FULL", "NOTE")
_IN_JOBS = {
    Use.READ_ONLY: "jobs may only read it",
    Use.NO: "jobs do not see it",
    Use.DISCOURAGED: "not for what jobs write",
}

Placed = tuple[Quota, Place | None]


def worst_first(placed: Sequence[Placed]) -> list[Placed]:
    return sorted(placed, key=lambda pair: -pair[0].worst)


def quotas_text(placed: Sequence[Placed], colours: bool) -> str:
    ordered = worst_first(placed)
    lines = table(_HEAD, [_row(quota, place) for quota, place in ordered], colours).splitlines()
    for spot, (quota, _) in enumerate(ordered, 1):
        if quota.worst >= ALARM:
            lines[spot] = paint(lines[spot], "red" if quota.worst >= 1 else "yellow", colours)
    return "\n".join(lines)


def alarms(placed: Sequence[Placed]) -> list[str]:
    """What is nearly full, one sentence each."""
    return [_alarm(quota) for quota, _ in worst_first(placed) if quota.worst >= ALARM]


def _alarm(quota: Quota) -> str:
    parts = [f"{_percent(part)} of its {what}" for part, what in _parts(quota) if part is not None and part >= ALARM]
    name = one_line(quota.place)
    if quota.whole:
        return f"the file system {name} has {' and '.join(parts)} in use, everybody's together"
    return f"{name} has {' and '.join(parts)} in use: jobs that write there may fail"


def _parts(quota: Quota) -> list[tuple[float | None, str]]:
    return [(quota.full, "bytes"), (quota.files_full, "files")]


def _row(quota: Quota, place: Place | None) -> list[str]:
    return [
        one_line(quota.place),
        one_line(quota.owner),
        _of(short_size(quota.used), short_size(quota.limit)),
        _percent(quota.full),
        _of(_number(quota.files), _number(quota.file_limit)),
        _percent(quota.files_full),
        "; ".join(_remarks(quota, place)),
    ]


def _remarks(quota: Quota, place: Place | None) -> list[str]:
    found = []
    if quota.whole:
        found.append("all of the file system; your own quota is not known")
    if quota.as_of:
        found.append(f"as of {one_line(quota.as_of)}")
    if place and place.purge_days:
        found.append(f"files untouched for {place.purge_days} days are deleted")
    if place and place.jobs in _IN_JOBS:
        found.append(_IN_JOBS[place.jobs])
    if place and place.shared:
        found.append("shared by your group")
    return found


def _of(used: str, limit: str) -> str:
    return f"{used} of {limit}" if limit else used


def _percent(part: float | None) -> str:
    return "" if part is None else f"{part * 100:.0f} %"


def _number(count: int | None) -> str:
    return "" if count is None else f"{count:,}"


def short_size(size: Size | None) -> str:
    """Three digits at most: `14G`, `636G`, `2.5G`."""
    if size is None:
        return ""
    for unit in ("P", "T", "G", "M", "K"):
        if size.bytes >= (amount := 1024 ** ("KMGTP".index(unit) + 1)):
            return (
                f"{size.bytes / amount:.3g}{unit}"
                if size.bytes < 999.5 * amount
                else f"{size.bytes / amount:.0f}{unit}"
            )
    return f"{size.bytes}B"


def quota_document(quota: Quota, place: Place | None) -> Mapping[str, Any]:
    """Bytes as numbers; null is not known, or no limit."""
    return {
        "place": quota.place,
        "path": quota.path,
        "owner": quota.owner,
        "used": quota.used.bytes if quota.used else None,
        "limit": quota.limit.bytes if quota.limit else None,
        "full": quota.full,
        "files": quota.files,
        "file_limit": quota.file_limit,
        "files_full": quota.files_full,
        "whole": quota.whole,
        "as_of": quota.as_of or None,
        "source": quota.source,
        "purge_days": place.purge_days if place else None,
        "jobs": place.jobs.value if place else None,
    }


# ── beside the table ─────────────────────────────────────────────────────────────────────────────────────────────────


def count_lines(folder: str, inodes: int, complete: bool, most: Sequence[tuple[str, int]], why: str) -> list[str]:
    """Files and folders, for both count against a quota."""
    least = "" if complete else "at least "
    head = f"{one_line(folder)} holds {least}{inodes:,} files and folders{f' ({why})' if why else ''}"
    return [head, *(f"  {count:>12,}  {one_line(name)}" for name, count in most)]


def unread_lines(command: str, text: str) -> list[str]:
    """An answer that nobody could read is still an answer."""
    lines = [one_line(line) for line in text.strip().splitlines()[:_LONGEST]]
    return [f"`{one_line(command)}` says this, which Voyageur does not understand:", *(f"  {line}" for line in lines)]
