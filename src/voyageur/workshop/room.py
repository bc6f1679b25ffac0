"""A folder to work in, on the quickest disk there is, gone when the work is done; and full disks, told as they are."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from voyageur.errors import RunError

_FULL = re.compile(r"No space left on device|os error 28|Disk quota exceeded|os error 122")
_LITTLE = 1 << 20
_OURS = re.compile(r"voy-env-(\d+)-(\d+)-\w+")


def fast_folder(environment: Mapping[str, str]) -> str:
    """The job's own disk, else that of this machine: thousands of small files never touch shared storage."""
    named = [environment.get(name) for name in ("SLURM_TMPDIR", "VOY_TMP", "TMPDIR")]
    return next((path for path in named if path and os.path.isdir(path)), tempfile.gettempdir())


@contextlib.contextmanager
def work_folder(environment: Mapping[str, str]) -> Iterator[Path]:
    place = fast_folder(environment)
    _sweep(place)
    try:
        folder = Path(tempfile.mkdtemp(prefix=f"voy-env-{os.getuid()}-{os.getpid()}-", dir=place))
    except OSError as problem:
        hint = "name another folder with TMPDIR"
        raise RunError(f"there is no place to work in: {problem.strerror}", facts=[place], hint=hint) from None
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _sweep(place: str) -> None:
    """What a process of this user that was killed on this machine has left."""
    for name in os.listdir(place):
        match = _OURS.fullmatch(name)
        if match and int(match[1]) == os.getuid() and not os.path.exists(f"/proc/{match[2]}"):
            shutil.rmtree(os.path.join(place, name), ignore_errors=True)


# ── full disks ───────────────────────────────────────────────────────────────────────────────────────────────────────


def is_about_a_full_disk(text: str) -> bool:
    """Programs that are not ours say it in the system's words."""
    return _FULL.search(text) is not None


def disk_is_full(facts: Iterable[str]) -> RunError:
    hint = "make room there (`voy quota` tells how full it is), or name another folder to work in with TMPDIR"
    return RunError("the disk is full on which the environment is made", facts=list(facts), hint=hint)


@contextlib.contextmanager
def full_disks_told(*places: str | Path) -> Iterator[None]:
    """A disk may become full at any write: then the error is the user's, and says which disk it is."""
    try:
        yield
    except OSError as problem:
        if not _is_full(problem):
            raise
        where = [str(problem.filename)] if problem.filename else _full_ones(places)
        raise disk_is_full(f"{place}: No space left on device" for place in where) from None


def _is_full(problem: OSError) -> bool:
    if isinstance(problem, shutil.Error):  # of a whole tree, and its number is lost
        return is_about_a_full_disk(str(problem)[:10_000])
    return problem.errno in (errno.ENOSPC, errno.EDQUOT)


def _full_ones(places: Iterable[str | Path]) -> list[str]:
    """Those with next to nothing left; all of them where a quota tells nothing."""
    named = [str(place) for place in places]
    full = []
    for place in named:
        with contextlib.suppress(OSError):  # not made yet
            disk = os.statvfs(place)
            if disk.f_bavail * disk.f_frsize < _LITTLE or (disk.f_files and disk.f_favail < 1):
                full.append(place)
    return full or named
