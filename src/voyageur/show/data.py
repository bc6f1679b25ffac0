"""Packs, and what became of them, as people read it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from voyageur.data.packing import Report
from voyageur.data.scanning import Scan
from voyageur.data.unpacking import Unpacked
from voyageur.errors import one_line
from voyageur.job.data import Pack
from voyageur.job.data.pack import as_bytes
from voyageur.job.data.packed import TarPack
from voyageur.show.style import table
from voyageur.units import Size

_SHOWN = 20  # names of what went wrong


def plain_name(name: bytes) -> str:
    return one_line(name.decode("utf-8", "backslashreplace"))


def _many(count: int, thing: str) -> str:
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def packed_text(report: Report) -> str:
    first = report.paths[0] if len(report.paths) == 1 else f"{len(report.paths)} shards, {report.paths[0]} and on"
    lines = [f"{first}: {_many(report.members, 'file')}, {Size(report.size)}"]
    if report.went_on_at:
        lines.append(f"went on after {_many(report.went_on_at, 'file')} that were packed before")
    return "\n".join([*lines, *_left_out_lines(report.left_out, report.examples)])


def _left_out_lines(left_out: Mapping[str, int], examples: Mapping[str, bytes]) -> list[str]:
    return [
        f"left out: {count:,} {what}" + (f", such as {plain_name(examples[what])}" if what in examples else "")
        for what, count in left_out.items()
        if count
    ]


def unpacked_text(made: Unpacked) -> str:
    return "\n".join(
        [f"{made.folder}: {_many(made.members, 'file')}, {Size(made.size)}", *_left_out_lines(made.left_out, {})]
    )


def problem_lines(problems: Sequence[tuple[bytes, str]]) -> list[str]:
    lines = [f"{plain_name(name) or '.'}: {reason}" for name, reason in problems[:_SHOWN]]
    return [*lines, f"and {len(problems) - _SHOWN:,} more"] if len(problems) > _SHOWN else lines


def pack_document(pack: Pack, numbers: Sequence[int]) -> dict[str, Any]:
    return {
        "path": pack.path,
        "members": [
            {"name": plain_name(as_bytes(pack.names[number])), "size": pack.size(number)} for number in numbers
        ],
        "samples": len(pack.samples()),
        "archives": _archives(pack),
        "left_out": dict(pack.left_out),
    }


def _archives(pack: Pack) -> list[dict[str, Any]]:
    return [archive._asdict() for archive in pack.table.archives] if isinstance(pack, TarPack) else []


def scan_document(scan: Scan, free: Mapping[str, int], command: str | None) -> dict[str, Any]:
    return {
        "path": scan.path,
        "files": scan.files,
        "folders": scan.folders,
        "size": scan.size,
        "small_files": scan.small,
        "worst": [{"folder": _below(scan, one.name), "files": one.files, "size": one.size} for one in scan.worst(10)],
        "unreadable": [plain_name(name) for name, _ in scan.unreadable],
        "disk": dict(free),
        "pack": command,
    }


def _below(scan: Scan, folder: bytes) -> str:
    return os.path.join(scan.path, os.fsdecode(folder)) if folder else scan.path


def scan_text(scan: Scan, free: Mapping[str, int], command: str | None) -> str:
    lines = [
        f"{scan.path}: {_many(scan.files, 'file')} in {_many(scan.folders, 'folder')}, {Size(scan.size)}; "
        f"{scan.small:,} of them are smaller than 1M"
    ]
    if free["files"]:
        share = 100 * (scan.files + scan.folders) / free["files"]
        lines.append(
            f"the disk holds {free['files']:,} files at most, {free['files_free']:,} are free; this is {share:.1f} %"
        )
    rows = [(f"{one.files:,}", str(Size(one.size)), one_line(_below(scan, one.name))) for one in scan.worst(10)]
    lines += ["", table(("FILES", "SIZE", "FOLDER"), rows, False)] if rows else []
    if command:
        lines += ["", f"as one pack it would be 2 files: `{command}`"]
    return "\n".join(lines)


def pack_command(scan: Scan) -> str | None:
    """What would help; nothing, where files are few or large."""
    name = os.path.basename(os.path.abspath(scan.path)) or "data"
    return f"voy data pack {shlex.quote(scan.path)} {shlex.quote(name)}.tar" if scan.is_for_a_pack else None
