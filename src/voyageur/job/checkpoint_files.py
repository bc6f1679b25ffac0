"""A folder of checkpoints: which one is the newest that is whole, and what was published how.

What a program publishes stands in a manifest beside the files, with its length and checksum. Files that a program wrote
in its own way stand in none; of those the format itself must tell whether they are whole.
"""

import contextlib
import fcntl
import json
import os
import re
import time
import zlib
from fnmatch import fnmatch
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple

from voyageur.job.wholeness import why_not_whole

MANIFEST = ".voyageur.jsonl"
_TEMPORARY = (".tmp", ".part", ".partial", ".swp", "~")

Json = Dict[str, Any]


class Checkpoint(NamedTuple):
    """`published`: what the manifest says of it; None for one that the program wrote in its own way."""

    path: str
    written: float
    published: Optional[Json] = None

    @property
    def name(self) -> str:
        return os.path.basename(self.path)


class Choice(NamedTuple):
    """The newest checkpoint that is whole, and those that are newer and are not, each with its reason."""

    newest: Optional[Checkpoint]
    passed_over: List[Tuple[Checkpoint, str]]


def newest_whole(folder: str, pattern: str = "*") -> Choice:
    passed_over: List[Tuple[Checkpoint, str]] = []
    for checkpoint in newest_first(folder, pattern):
        wrong = why_not(checkpoint)
        if wrong is None:
            return Choice(checkpoint, passed_over)
        passed_over.append((checkpoint, wrong))
    return Choice(None, passed_over)


def first_whole(some: List[Checkpoint]) -> Optional[Checkpoint]:
    return next((one for one in some if why_not(one) is None), None)


def newest_first(folder: str, pattern: str = "*") -> List[Checkpoint]:
    """By the time of their writing; of two from one moment, by the numbers in their names. Copied files keep neither
    secret: a folder whose times are all alike is sorted by its numbers."""
    published = read_manifest(folder)
    found = [_checkpoint(folder, name, published) for name in _names(folder) if _belongs(name, pattern)]
    return sorted(found, key=lambda one: (one.written, numbers_in(one.name)), reverse=True)


def _names(folder: str) -> List[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _belongs(name: str, pattern: str) -> bool:
    return not name.startswith(".") and not name.endswith(_TEMPORARY) and fnmatch(name, pattern)


def numbers_in(name: str) -> List[int]:
    return [int(digits) for digits in re.findall(r"\d+", name)]


def _checkpoint(folder: str, name: str, published: Dict[str, Json]) -> Checkpoint:
    path = os.path.join(folder, name)
    facts = published.get(name)
    written = written_at(path)
    if facts and abs(written - float(facts.get("written", 0))) > 0.001:
        facts = None  # written anew since, by somebody who told nobody
    return Checkpoint(path, written, facts)


def written_at(path: str) -> float:
    """A folder is as new as the newest file in it."""
    with contextlib.suppress(OSError):
        newest = os.stat(path).st_mtime
        for folder, _, names in os.walk(path):
            newest = max([newest, *(os.lstat(os.path.join(folder, name)).st_mtime for name in names)])
        return newest
    return 0.0


def why_not(checkpoint: Checkpoint) -> Optional[str]:
    if checkpoint.published is None:
        return why_not_whole(checkpoint.path)
    try:
        size, checksum = measure(checkpoint.path)
    except OSError as problem:
        return "it cannot be read: %s" % (problem.strerror or problem)
    if size != checkpoint.published.get("size"):
        return "it has %d bytes, and was published with %s" % (size, checkpoint.published.get("size"))
    return (
        None if checksum == checkpoint.published.get("crc32") else "its checksum is not the one it was published with"
    )


def measure(path: str) -> Tuple[int, int]:
    """Length and CRC-32: what a cut or a flipped bit changes. Nobody here guards against forgers."""
    size = checksum = 0
    for each in files_of(path):
        if each != path:
            checksum = zlib.crc32(os.fsencode(os.path.relpath(each, path)), checksum)
        with open(each, "rb") as file:
            for block in iter(lambda: file.read(4 << 20), b""):
                checksum = zlib.crc32(block, checksum)
                size += len(block)
    return size, checksum


def files_of(path: str) -> List[str]:
    """Itself; of a folder, all files below it."""
    if not os.path.isdir(path):
        return [path]
    return sorted(os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names)


# ── the manifest ─────────────────────────────────────────────────────────────────────────────────────────────────────


def read_manifest(folder: str) -> Dict[str, Json]:
    """By name; a later line wins, and one that was cut off counts for nothing."""
    found = {}
    for facts in _lines(os.path.join(folder, MANIFEST)):
        found[str(facts.get("name"))] = facts
    return found


def _lines(path: str) -> Iterator[Json]:
    with contextlib.suppress(OSError), open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            with contextlib.suppress(ValueError):
                facts = json.loads(line)
                if isinstance(facts, dict):
                    yield facts


@contextlib.contextmanager
def manifest(folder: str) -> "Iterator[int]":
    """Open for appending, with a lock where the file system has any: only one attempt publishes at a time."""
    descriptor = os.open(os.path.join(folder, MANIFEST), os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        with contextlib.suppress(OSError):
            fcntl.lockf(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


def enter(descriptor: int, facts: Json) -> None:
    size = os.fstat(descriptor).st_size
    torn = size and os.pread(descriptor, 1, size - 1) != b"\n"
    line = json.dumps(dict(facts, time=round(time.time(), 3)))
    os.write(descriptor, (("\n" if torn else "") + line + "\n").encode("utf-8"))
    os.fsync(descriptor)
