"""df and lfs project: on which file system a folder lies, and how full all of it is."""

from __future__ import annotations

import re

from msgspec import Struct

from voyageur.allowance.model import Quota
from voyageur.units import Size

_COLUMNS = ("fstype", "target", "size", "used", "avail", "itotal", "iused", "file")


class Mount(Struct, frozen=True, kw_only=True):
    """`path` is the folder that was asked about. Root's reserve counts as used: nobody else may have it."""

    path: str
    target: str
    kind: str
    size: Size
    used: Size
    files: int | None = None
    most_files: int | None = None

    def as_quota(self) -> Quota:
        return Quota(
            place=self.target,
            path=self.path,
            owner="everybody",
            used=self.used,
            limit=self.size if self.size.bytes else None,
            files=self.files,
            file_limit=self.most_files or None,
            source="statvfs",
            whole=True,
        )


def filesystems_argv(path: str) -> list[str]:
    """df is statvfs in a process of its own, which may hang without us."""
    return ["df", "-k", f"--output={','.join(_COLUMNS)}", "--", path]


def filesystems_from(answer: str) -> list[Mount]:
    """Names of folders may hold blanks; so the numbers are found first, in the middle of the line."""
    found = []
    for line in answer.splitlines()[1:]:
        if row := re.match(r"(\S+) +(.+?) +(\d+) +(\d+) +(\d+) +(\d+|-) +(\d+|-) +(\S.*)$", line):
            kind, target, size, _, available, inodes, used_inodes, path = row.groups()
            found.append(
                Mount(
                    path=path,
                    target=target,
                    kind=kind,
                    size=Size(int(size) * 1024),
                    used=Size(max(0, int(size) - int(available)) * 1024),
                    files=int(used_inodes) if used_inodes.isdigit() else None,
                    most_files=int(inodes) if inodes.isdigit() else None,
                )
            )
    return found


def lfs_project_from(answer: str) -> str | None:
    """`83115734 P /scratch/ada`; 0 is no project."""
    match = re.match(r"\s*(\d+)\s", answer)
    return match[1] if match and match[1] != "0" else None
