"""Is there room on the node's disk, in bytes and in files, for what is about to arrive?"""

import os
from typing import Optional

_UNITS = ("T", 1024**4), ("G", 1024**3), ("M", 1024**2), ("K", 1024)
_RESERVE = 50  # one part in so many stays free: a disk that is full to the last byte helps nobody


def lacking(folder: str, size: int, files: int) -> Optional[str]:
    """In words what is missing; None when it fits. Some file systems do not count files and say that they have none."""
    found = os.statvfs(folder)
    free = found.f_bavail * found.f_frsize - found.f_blocks * found.f_frsize // _RESERVE
    if size > free:
        return "%s are needed and %s are free" % (in_units(size), in_units(max(0, free)))
    if found.f_files and files > found.f_favail:
        return "%d files are needed and %d are free" % (files, found.f_favail)
    return None


def free_bytes(folder: str) -> int:
    found = os.statvfs(folder)
    return max(0, found.f_bavail * found.f_frsize - found.f_blocks * found.f_frsize // _RESERVE)


def in_units(size: int) -> str:
    for unit, each in _UNITS:
        if size >= each:
            return "%.1f%s" % (size / each, unit)
    return "%dB" % size
