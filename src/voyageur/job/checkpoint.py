"""Checkpoints of this run: `job.checkpoint.latest()`, `publish(path)`, `with writing(name) as file`.

A checkpoint that was published is whole, whatever happened to the program a moment later. An attempt that another has
followed publishes nothing any more.
"""

import contextlib
import os
import re
from typing import BinaryIO, Iterator, Optional

from voyageur.job import checkpoint_files as files

_published_here = False


class StaleAttempt(RuntimeError):
    """A newer attempt of this run has taken over; what this one computes no longer counts."""


def folder() -> str:
    """Where checkpoints go. Outside a run: `checkpoints` in the working folder."""
    path = os.environ.get("VOY_CHECKPOINTS") or os.path.join(os.getcwd(), "checkpoints")
    os.makedirs(path, exist_ok=True)
    return path


def latest() -> Optional[str]:
    """The newest whole checkpoint; None for a fresh start. Before anything was published here, all ranks get the same:
    the one that was chosen when this attempt began."""
    chosen = os.environ.get("VOY_LATEST")
    if chosen is not None and not _published_here:
        return chosen or None
    newest = files.newest_whole(folder(), os.environ.get("VOY_CHECKPOINT_PATTERN") or "*").newest
    return newest.path if newest else None


def publish(path: str, name: Optional[str] = None) -> str:
    """Make a finished file, or folder, a checkpoint: on disk, checked, under its name at once; returns where it is."""
    global _published_here
    target = os.path.join(folder(), name or os.path.basename(path))
    temporary = _beside(path, target)
    try:
        for each in files.files_of(temporary):
            _sync(each)
        size, checksum = files.measure(temporary)
        with files.manifest(folder()) as book:
            _refuse_if_stale()
            facts = {
                "name": os.path.basename(target),
                "size": size,
                "crc32": checksum,
                "run": os.environ.get("VOY_RUN"),
            }
            written = files.written_at(temporary)
            _put_in_place(temporary, target)
            _sync(folder())
            files.enter(book, dict(facts, attempt=_attempt(), written=written))
    except BaseException:
        if temporary != path:
            _remove(temporary)
        raise
    _published_here = True
    return target


@contextlib.contextmanager
def writing(name: str) -> "Iterator[BinaryIO]":
    """A file to write a checkpoint into; published when the block ends well, and gone when it does not."""
    if os.path.basename(name) != name or name.startswith("."):
        raise ValueError("a checkpoint's name is a plain file name, not %r" % name)
    path = os.path.join(folder(), ".%s.%d.tmp" % (name, os.getpid()))
    try:
        with open(path, "wb") as file:
            yield file
        publish(path, name)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(path)


def _beside(path: str, target: str) -> str:
    """The file in the folder of checkpoints, so that only a rename is left to do. From elsewhere it is copied."""
    if os.path.dirname(os.path.abspath(path)) == os.path.dirname(target):
        return path
    import shutil

    temporary = os.path.join(os.path.dirname(target), ".%s.%d.tmp" % (os.path.basename(target), os.getpid()))
    if os.path.isdir(path):
        shutil.copytree(path, temporary)
    else:
        shutil.copyfile(path, temporary)
    return temporary


def _put_in_place(temporary: str, target: str) -> None:
    """A folder cannot take the place of another in one step: the older one goes aside first."""
    aside = "%s.old" % os.path.join(os.path.dirname(target), "." + os.path.basename(target))
    replaces = temporary != target and os.path.isdir(target)
    if replaces:
        _remove(aside)
        os.rename(target, aside)
    os.replace(temporary, target)
    if replaces:
        _remove(aside)


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        if os.path.isdir(path):
            import shutil

            shutil.rmtree(path)
        else:
            os.unlink(path)


def _sync(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # some network file systems cannot sync a folder
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _attempt() -> int:
    return int(os.environ.get("VOY_ATTEMPT") or 0)


def _refuse_if_stale() -> None:
    """Slurm starts a job anew on another node while the first copy, on a node it has lost sight of, still computes."""
    run_folder = os.environ.get("VOY_RUN_DIR")
    if not run_folder or not _attempt():
        return
    numbers = [re.match(r"attempt-(\d+)\.json$", name) for name in os.listdir(run_folder)]
    newest = max([int(found.group(1)) for found in numbers if found], default=0)
    if newest > _attempt():
        raise StaleAttempt("attempt %d of this run has taken over from attempt %d" % (newest, _attempt()))
