"""`voy data pack` against GNU tar: on the local disk, and on a file system that takes a millisecond for each call."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.data.files import COUNT, FOLDERS, forget, make_files, remove
from bench.timing import report

VOY = str(Path(sys.executable).with_name("voy"))
DELAY = 1000  # microseconds


def pack(root: Path) -> None:
    files = root / "files"
    make_files(files, COUNT, FOLDERS)
    os.sync()
    what = f"voy data pack, {COUNT:,} files"
    states: dict[str, Callable[[], bool]] = {"warm": lambda: True, "cold": forget}
    for state, prepare in states.items():
        if not prepare():
            print(f"{what}, cold: not measured, only root may empty the cache")
            continue
        ours, theirs = _in_turn(files, root, 5 if state == "warm" else 3, prepare)
        report(f"{what}, {state}", ours, theirs, "GNU tar, synced", "not slower", ours <= theirs)
    shutil.rmtree(files)


def pack_shared(root: Path) -> None:
    files = root / "files"
    # libfuse lets the look-ups of one folder wait for each other, which no shared file system does: so many folders
    make_files(files, 2_000, 200)
    with slow(files, root) as remount:
        ours, theirs = _in_turn(root / "shared", root, 3, remount)
        report("voy data pack, 2,000 files at 1 ms a call", ours, theirs, "GNU tar", "8x faster", 8 * ours <= theirs)


def _in_turn(files: Path, root: Path, times: int, prepare: Callable[[], object]) -> tuple[float, float]:
    """The median of each. Both leave their archive on the disk: what is in memory alone is not packed."""
    ours, theirs = root / "ours.tar", root / "theirs.tar"
    spent: list[tuple[float, float]] = []
    for _ in range(times):
        pair = []
        for argv in (
            [VOY, "data", "pack", str(files), str(ours)],
            ["sh", "-c", f"tar cf {theirs} {files} && sync {theirs}"],
        ):
            prepare()
            begin = time.perf_counter()
            subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            pair.append(time.perf_counter() - begin)
            remove(ours, root / "ours.tar.idx", theirs)
        spent.append((pair[0], pair[1]))
    return statistics.median(one for one, _ in spent), statistics.median(other for _, other in spent)


@contextmanager
def slow(files: Path, root: Path) -> Iterator[Callable[..., object]]:
    program, mount = root / "slowfs", root / "shared"
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "fuse3"], capture_output=True, text=True, check=True)
    source = Path(__file__).with_name("slowfs.c")
    subprocess.run(["cc", "-O2", "-o", str(program), str(source), *flags.stdout.split()], check=True)
    mount.mkdir()

    def unmount() -> None:
        subprocess.run(["fusermount3", "-u", str(mount)], check=False, stderr=subprocess.DEVNULL)

    def remount(delay: int = DELAY) -> None:
        """So that nothing is remembered from the time before."""
        unmount()
        subprocess.run(
            [str(program), str(files), str(delay), str(mount), "-o", "max_threads=64"],
            check=True,
            stderr=subprocess.DEVNULL,
        )

    try:
        yield remount
    finally:
        unmount()
