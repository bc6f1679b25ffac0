"""What the program wrote into its working folder. That folder goes with the node, so it is kept as one archive.

A program that saves to `model.pt` and knows nothing of clusters must not lose its work. What [results] names goes home
another way, and is not kept here as well.
"""

import os
import tarfile
from typing import Any, Container, Dict, Iterator, List, NamedTuple, Optional, Tuple

from voyageur.runtime.folder import write_whole

LIMIT = 2**30
LIMIT_WHEN_STOPPED = 2**26  # Slurm kills within seconds; this much is written in one even on a slow file system
_NOT_WORK = ("__pycache__", ".git", ".pytest_cache")


class Written(NamedTuple):
    kept: List[str]
    lost: List[str]
    size: int
    archive: str

    def facts(self) -> Dict[str, Any]:
        return {
            "files": len(self.kept),
            "bytes": self.size,
            "archive": os.path.basename(self.archive) if self.kept else "",
            "lost": self.lost[:20],
        }

    def sentence(self) -> str:
        advice = "write to $VOY_CHECKPOINTS instead: it stays"
        if not self.kept:
            return "LOST: %s, written into the working folder and too large to keep; %s" % (_some(self.lost), advice)
        kept = "%s, written into the working folder, kept in %s" % (_some(self.kept), self.archive)
        if not self.lost:
            return "%s; %s" % (kept, advice)
        return "%s; LOST, too large to keep: %s; %s" % (kept, _some(self.lost), advice)


def _some(names: List[str]) -> str:
    return ", ".join(names[:3]) + (" and %d more" % (len(names) - 3) if len(names) > 3 else "")


def keep_written(
    code: str, unpacked_at: int, archive: str, limit: int, saved: Container[str] = ()
) -> Optional[Written]:
    """All files in `code` that are newer than its unpacking, small ones first, as long as they fit into the limit."""
    found = sorted(one for one in _newer(code, unpacked_at) if one[1] not in saved)
    if not found:
        return None
    kept: List[str] = []
    lost: List[str] = []
    total = 0
    for size, name in found:
        if total + size <= limit:
            kept.append(name)
            total += size
        else:
            lost.append(name)
    try:
        if kept:
            write_whole(archive, lambda path: _archive(code, kept, path))
    except (OSError, tarfile.TarError):
        kept, lost, total = [], [name for _, name in found], 0
    return Written(sorted(kept), sorted(lost), total, archive)


def _newer(code: str, unpacked_at: int) -> Iterator[Tuple[int, str]]:
    for folder, folders, names in os.walk(code):
        folders[:] = [name for name in folders if name not in _NOT_WORK]
        for name in names:
            path = os.path.join(folder, name)
            try:
                found = os.lstat(path)
            except OSError:
                continue
            if found.st_ctime_ns > unpacked_at:
                yield found.st_size, os.path.relpath(path, code)


def _archive(code: str, names: List[str], path: str) -> None:
    with tarfile.open(path, "w") as tar:
        for name in sorted(names):
            if os.path.isfile(os.path.join(code, name)) or os.path.islink(os.path.join(code, name)):
                tar.add(os.path.join(code, name), arcname=name, recursive=False)
