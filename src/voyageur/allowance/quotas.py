"""What the quota commands of clusters answer, as quotas. Pure; each layout is told by its own look.

Of a soft and a hard limit the soft one counts: behind it a site complains, and soon after it forbids.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from voyageur.allowance.amounts import AMOUNT, count_from, is_amount, limit_from, size_from
from voyageur.allowance.model import Quota
from voyageur.allowance.quota_documents import quotas_of_csv, quotas_of_json
from voyageur.allowance.quota_tables import quotas_of_bars, quotas_of_columns

Layout = Callable[[str], Iterator[Quota]]


def quotas_from(answer: str) -> tuple[Quota, ...] | None:
    """None when nothing here understands it; empty when it says that there are none."""
    for layout in _LAYOUTS:
        if found := tuple(layout(answer)):
            return _placed(found)
    return () if re.search(r"^Disk quotas for .*: *none *$", answer, re.MULTILINE) else None


def _placed(quotas: tuple[Quota, ...]) -> tuple[Quota, ...]:
    """A tool may list the same place twice, by user and by group; only rows that say the same are one."""
    return tuple(dict.fromkeys(quotas))


# ── diskusage_report, of the Alliance ────────────────────────────────────────────────────────────────────────────────

_REPORT = re.compile(
    rf"^\s*(?P<place>/?\w[\w/.-]*) \((?:(?P<kind>user|group|project) )?(?P<owner>[^)]+)\)"
    rf"\s+(?P<used>{AMOUNT})\s*/\s*(?P<limit>{AMOUNT})\s+(?P<files>{AMOUNT})\s*/\s*(?P<most>{AMOUNT})\s*$",
    re.MULTILINE,
)


def _of_report(answer: str) -> Iterator[Quota]:
    """`/home (user ada)  20GiB/ 25GiB  208K/ 250K`, and before 2025 `Home (ada)  280 kB/47 GB  25/500k`."""
    for row in _REPORT.finditer(answer):
        place = row["place"]
        yield Quota(
            place=place.lower(),
            path=place if place.startswith("/") else "",
            owner=f"{row['kind']} {row['owner']}" if row["kind"] else row["owner"],
            used=size_from(row["used"]),
            limit=limit_from(size_from(row["limit"])),
            files=count_from(row["files"]),
            file_limit=count_from(row["most"]) or None,
        )


# ── lfs quota, and quota of Linux itself ─────────────────────────────────────────────────────────────────────────────

_OWNER = re.compile(r"Disk quotas for (usr|grp|prj|user|group|project) (\S+)")
_OWNERS = {"usr": "user", "grp": "group", "prj": "project"}
_HEAD = re.compile(r"\s*Filesystem\s+(kbytes|blocks|used|space)\s+quota\s+limit\s")
_SECTION = re.compile(r"=+ *(\w+) *=+")


def _of_linux(answer: str) -> Iterator[Quota]:
    """The grace stands as `-` where there is none (lfs) or does not stand at all (quota); a long path has its own line.

    Bare numbers are KiB below `kbytes` and `blocks`.
    """
    owner, section, unit, held = "", "", None, ""
    for line in answer.splitlines():
        if match := _OWNER.match(line.strip()):
            owner, unit = f"{_OWNERS.get(match[1], match[1])} {match[2].rstrip(':')}", None
        elif match := _SECTION.fullmatch(line.strip()):
            section, unit = match[1].lower(), None
        elif match := _HEAD.match(line):
            unit, held = ("K" if match[1] in ("kbytes", "blocks") else ""), ""
        elif unit is not None and line.strip():
            words = [*([held] if held else []), *line.split()]
            if len(words) == 1:
                held = words[0]
                continue
            held = ""
            yield from _linux_row(words, owner, section, unit)


def _linux_row(words: list[str], owner: str, section: str, unit: str) -> Iterator[Quota]:
    path, *rest = words
    numbers = [word for word in rest if is_amount(word)]
    if len(numbers) < 6 or len(rest) > 8:
        return
    used, soft, hard, files, soft_files, hard_files = numbers[:6]
    yield Quota(
        place=section or path,
        path=path if path.startswith("/") else "",
        owner=owner,
        used=size_from(used, unit),
        limit=limit_from(size_from(soft, unit)) or limit_from(size_from(hard, unit)),
        files=count_from(files),
        file_limit=count_from(soft_files) or count_from(hard_files) or None,
    )


# ── BeeGFS ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _of_beegfs(answer: str) -> Iterator[Quota]:
    """`ada|1042||   76.61 GiB|    5.00 TiB||   687792|unlimited`, below `==== SCRATCH ====` in Mila's disk-quota."""
    section = ""
    for line in answer.splitlines():
        if match := _SECTION.fullmatch(line.strip()):
            section = match[1].lower()
        cells = [cell.strip() for cell in line.split("|") if cell.strip()]
        if len(cells) == 6 and cells[1].isdigit() and is_amount(cells[2]):
            yield Quota(
                place=section or "beegfs",
                owner=cells[0],
                used=size_from(cells[2]),
                limit=limit_from(size_from(cells[3])),
                files=count_from(cells[4]),
                file_limit=count_from(cells[5]) or None,
            )


def _of_mila(answer: str) -> Iterator[Quota]:
    """disk-quota asks two file systems, one after the other."""
    yield from _of_linux(answer)
    yield from _of_beegfs(answer)


# ── lumi-quota and lumi-workspaces ───────────────────────────────────────────────────────────────────────────────────

_LUMI = re.compile(
    r"^(?P<path>/\S+)\s+(?P<used>[\d.]+[KMGTP]?)/(?P<limit>[\d.]+[KMGTP]?)\s+(?P<files>[\d.]+[KMGTP]?)/(?P<most>[\d.]+[KMGTP]?)\s*$"
)


def _of_lumi(answer: str) -> Iterator[Quota]:
    owner = ""
    for line in answer.splitlines():
        if line.startswith("Project: "):
            owner = line.removeprefix("Project: ").strip()
        if row := _LUMI.match(line):
            yield Quota(
                place=row["path"],
                path=row["path"],
                owner=owner,
                used=size_from(row["used"]),
                limit=limit_from(size_from(row["limit"])),
                files=count_from(row["files"]),
                file_limit=count_from(row["most"]) or None,
            )


_LAYOUTS: tuple[Layout, ...] = (
    quotas_of_json,
    quotas_of_csv,
    _of_report,
    _of_lumi,
    _of_mila,
    quotas_of_bars,
    quotas_of_columns,
)
