"""Quota commands that draw a table: between bars, or in columns below a head."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from voyageur.allowance.amounts import count_from, is_amount, limit_from, size_from
from voyageur.allowance.model import Quota

# ── between bars ─────────────────────────────────────────────────────────────────────────────────────────────────────


def quotas_of_bars(answer: str) -> Iterator[Quota]:
    """`quota` of CSCS, and the box that TACC's taccinfo draws at each login."""
    as_of = match[1] if (match := re.search(r"data updated on: *([\d: -]+\d)", answer)) else ""
    owner = match[1] if (match := re.search(r"(?:Disk quotas for user|^User:) *(\w+)", answer, re.MULTILINE)) else ""
    for line in answer.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.strip().startswith("|"):
            continue
        if len(cells) == 1:
            yield from _of_tacc(cells[0].split(), owner)
        elif cells[0].startswith("/"):
            yield _of_cscs(cells, owner, as_of)


def _of_tacc(words: Sequence[str], owner: str) -> Iterator[Quota]:
    """`/home1  2.5  10.0  25.07  18488  0  0.00`: GB, limit, part, files, limit, part."""
    if len(words) == 7 and words[0].startswith("/") and all(is_amount(word) for word in words[1:]):
        path, used, limit, _, files, most, _ = words
        yield Quota(
            place=path,
            path=path,
            owner=owner,
            used=size_from(used, "G"),
            limit=limit_from(size_from(limit, "G")),
            files=count_from(files),
            file_limit=count_from(most) or None,
        )


def _of_cscs(cells: Sequence[str], owner: str, as_of: str) -> Quota:
    """A user's and a project's columns stand side by side, and only one of them is filled. Sizes have a unit, numbers
    of files have no point, percentages have one."""
    sizes = [cell for cell in cells[1:] if re.fullmatch(r"[\d.]+[KMGTP]?B?", cell) and cell[-1].isalpha()]
    counts = [cell for cell in cells[1:] if cell.isdigit()]
    return Quota(
        place=cells[0],
        path=cells[0],
        owner=owner if f"/{owner}" in cells[0] else "",
        used=size_from(sizes[0]) if sizes else None,
        limit=limit_from(size_from(sizes[-1])) if len(sizes) > 1 else None,
        files=count_from(counts[0]) if counts else None,
        file_limit=(count_from(counts[-1]) or None) if len(counts) > 1 else None,
        as_of=as_of,
    )


# ── in columns ───────────────────────────────────────────────────────────────────────────────────────────────────────

# What sites write over a column, and what stands below it. With `a` in front it is a whole area's, not one user's.
_MEANINGS = {
    "place": ("filesystem", "area", "areadescr", "disk", "mount"),
    "owner": ("user",),
    "used": ("used", "usage", "diskusage"),
    "limit": ("quota", "qta", "limit"),
    "files": ("files", "fileusage", "inodes"),
    "most": ("fileslimit", "filelimit"),
}


def quotas_of_columns(answer: str) -> Iterator[Quota]:
    """`cindata` and `cinQuota` of CINECA and their like: what a column is, its head says."""
    head: list[str] | None = None
    for line in answer.splitlines():
        words = line.split()
        if found := _head(line):
            head = found
        elif head and len(words) == len(head) and any(word.startswith("/") for word in words):
            yield from _below(dict(zip(head, words, strict=True)))


def _head(line: str) -> list[str] | None:
    """Two words that make one name, as `File Usage`, stand one blank apart."""
    names = [word.replace(" ", "").lower() for word in re.split(r"\s{2,}", line.strip())]
    meanings = [_meaning(name) for name in names]
    if not {"place", "used"} <= set(meanings):
        names = line.lower().split()
        meanings = [_meaning(name) for name in names]
    if not {"place", "used"} <= set(meanings):
        return None
    return [
        _later(meaning, meanings[:spot]) or name
        for spot, (name, meaning) in enumerate(zip(names, meanings, strict=True))
    ]


def _meaning(name: str) -> str:
    return next((meaning for meaning, names in _MEANINGS.items() if name in names), name)


def _later(meaning: str, before: Sequence[str]) -> str:
    """A second `limit` is that of the files before it."""
    return "most" if meaning == "limit" and "limit" in before and "files" in before else meaning


def _below(row: dict[str, str]) -> Iterator[Quota]:
    path = row["place"]
    if not path.startswith("/") or not is_amount(row["used"]):
        return
    whole = row.get("aqta")
    limit = row.get("limit", "-")
    yield Quota(
        place=path,
        path=path,
        owner=row.get("owner", ""),
        used=size_from(row["aused"] if whole and not is_amount(limit) else row["used"]),
        limit=limit_from(size_from(whole if whole and not is_amount(limit) else limit)),
        files=count_from(row.get("files", "-")),
        file_limit=count_from(row.get("most", "-")) or None,
    )
