"""Quota commands that answer with a document: JSON or CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from typing import Any

from voyageur.allowance.amounts import count_from, limit_from, size_from
from voyageur.allowance.model import Quota
from voyageur.units import Size


def quotas_of_json(answer: str) -> Iterator[Quota]:
    """`showquota -J` of NERSC and `jutil project dataquota -o json` of Jülich: a list of objects, one a place."""
    try:
        entries = json.loads(answer)
    except ValueError:
        return
    for entry in entries if isinstance(entries, list) else []:
        if not isinstance(entry, dict):
            continue
        if "space_used" in entry:
            yield _of_nersc(entry)
        elif "data-usage" in entry:
            yield _of_julich(entry)


def _of_nersc(entry: dict[str, Any]) -> Quota:
    return Quota(
        place=str(entry.get("fs", "?")),
        used=_size(entry["space_used"]),
        limit=limit_from(_size(entry.get("space_quota"))),
        files=_count(entry.get("inode_used")),
        file_limit=_count(entry.get("inode_quota")) or None,
    )


def _of_julich(entry: dict[str, Any]) -> Quota:
    path = str(entry.get("project-dir", "?"))
    soft, hard = (limit_from(_size(entry.get(f"data-{kind}-limit"))) for kind in ("soft", "hard"))
    return Quota(
        place=path,
        path=path,
        owner=str(entry.get("project", "")),
        used=_size(entry["data-usage"]),
        limit=soft or hard,
        files=_count(entry.get("inode-usage")),
        file_limit=_count(entry.get("inode-soft-limit")) or _count(entry.get("inode-hard-limit")) or None,
    )


def _size(value: Any) -> Size | None:
    """A number is bytes."""
    return size_from(str(value)) if value is not None else None


def _count(value: Any) -> int | None:
    return count_from(str(value)) if value is not None else None


def quotas_of_csv(answer: str) -> Iterator[Quota]:
    """`cindata -f 0` of CINECA; its sizes are KiB."""
    if "areakbused" not in answer:
        return
    for row in csv.DictReader(io.StringIO(answer.strip())):
        path, used = (row.get("areadescr") or "").strip(), (row.get("areakbused") or "").strip()
        if path and used:
            yield Quota(
                place=path,
                path=path,
                owner=(row.get("groupname") or "").strip(),
                used=size_from(used, "K"),
                limit=limit_from(size_from(row.get("areakbmax") or "", "K")),
                files=count_from(row.get("areainused") or ""),
                file_limit=count_from(row.get("areainmax") or "") or None,
            )
