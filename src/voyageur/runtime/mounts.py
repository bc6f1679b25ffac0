"""FUSE mounts of ours, let go of. One whose program was killed stays, and nobody can look into it any more."""

import contextlib
import errno
import os
import re
import shutil
import subprocess
from typing import List

_ESCAPED = re.compile(r"\\([0-7]{3})")  # how the kernel writes blanks in /proc/self/mounts


def is_mounted(path: str) -> bool:
    try:
        os.lstat(path)
    except OSError as problem:
        return problem.errno == errno.ENOTCONN
    return os.path.ismount(path)


def let_go(path: str) -> None:
    for tool in ("fusermount3", "fusermount"):
        if is_mounted(path) and shutil.which(tool):
            subprocess.run([tool, "-u", "-z", path], check=False, stderr=subprocess.DEVNULL)


def let_go_below(folder: str) -> None:
    inside = os.path.join(os.path.realpath(folder), "")
    for path in _all_of_fuse():
        if path.startswith(inside):
            let_go(path)


def _all_of_fuse() -> List[str]:
    with contextlib.suppress(OSError), open("/proc/self/mounts") as file:
        entries = [line.split() for line in file]
        return [_plain(entry[1]) for entry in entries if entry[2].startswith("fuse")]
    return []


def _plain(text: str) -> str:
    return _ESCAPED.sub(lambda found: chr(int(found.group(1), 8)), text)
