"""Where the results of one node come to: archives, and the manifest that says which file is where and what it must be.

    NODE-3.tar     results, one after the other; any tar reads it
    NODE.json      the manifest; it is replaced last, so that it always tells of what is there

A save writes one more archive with what is new, reads it back, and replaces the manifest. Every few saves all of it is
written anew, so that there are never many files.
"""

import contextlib
import hashlib
import json
import os
import stat
import time
from typing import Any, Dict, Iterator, List, NamedTuple, Optional

from voyageur.job.data import tar
from voyageur.runtime.folder import read_json, sync_folder, write_atomically
from voyageur.runtime.results.find import Found

MANIFEST = ".json"
_MOST_ARCHIVES = 4
_BLOCK = 1 << 20

Json = Dict[str, Any]


class Outcome(NamedTuple):
    files: int
    size: int
    left: List[str]  # names, and why each is not there


class Damaged(OSError):
    """What was read back is not what was written."""


class Bin:
    def __init__(self, folder: str, node: str) -> None:
        self.folder = folder
        self.node = node
        self._manifest = os.path.join(folder, node + MANIFEST)

    def files(self) -> Dict[str, Json]:
        found = (read_json(self._manifest) or {}).get("files")
        return found if isinstance(found, dict) else {}

    def saved_at(self) -> float:
        return float((read_json(self._manifest) or {}).get("saved", 0.0))

    def save(self, found: List[Found], facts: Json, deadline: float = float("inf")) -> Outcome:
        """What has changed since the last time. Raises OSError, and then what was saved before is still whole."""
        os.makedirs(self.folder, 0o700, exist_ok=True)
        self._clear_remains()
        files = self.files()
        changed = [one for one in found if not _is_same(files.get(one.name), one)]
        if changed and len(set(self._own_archives())) >= _MOST_ARCHIVES:
            changed = found
        left: List[str] = []
        if changed:
            files = dict(files, **self._write(changed, left, deadline))
        if changed or facts.get("final"):
            self._tell(files, left, facts)
        return Outcome(len(files), sum(int(entry["size"]) for entry in files.values()), left)

    def _tell(self, files: Dict[str, Json], left: List[str], facts: Json) -> None:
        told = dict(facts, version=1, node=self.node, saved=time.time(), files=files, left=left)
        write_atomically(self._manifest, json.dumps(told, indent=1, sort_keys=True).encode("ascii"))
        kept = {entry["archive"] for entry in files.values()}
        for name in self._own_archives():
            if name not in kept:
                os.unlink(os.path.join(self.folder, name))

    def _own_archives(self) -> Iterator[str]:
        for name in os.listdir(self.folder):
            head, dash, number = name[: -len(".tar")].rpartition("-")
            if name.endswith(".tar") and dash and head == self.node and number.isdigit():
                yield name

    def _clear_remains(self) -> None:
        """Of a save that was killed."""
        for name in os.listdir(self.folder):
            if name.startswith("." + self.node + "-") and ".tar." in name:
                with contextlib.suppress(OSError):
                    os.unlink(os.path.join(self.folder, name))

    # ── one archive ──────────────────────────────────────────────────────────────────────────────────────────────────

    def _write(self, changed: List[Found], left: List[str], deadline: float) -> Dict[str, Json]:
        numbers = [int(name[: -len(".tar")].rpartition("-")[2]) for name in self._own_archives()]
        name = "%s-%d.tar" % (self.node, max(numbers, default=0) + 1)
        temporary = os.path.join(self.folder, ".%s.%d" % (name, os.getpid()))
        try:
            with open(temporary, "xb", opener=_private) as file:
                entries = _fill(file, changed, left, deadline)
                file.flush()
                os.fsync(file.fileno())
            _verify(temporary, entries)
            os.rename(temporary, os.path.join(self.folder, name))
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
        sync_folder(self.folder)
        return {key: dict(entry, archive=name) for key, entry in entries.items()}


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW, 0o600)


def _is_same(entry: Optional[Json], one: Found) -> bool:
    return entry is not None and (entry["size"], entry["mtime_ns"]) == (one.size, one.mtime_ns)


def _fill(file: Any, changed: List[Found], left: List[str], deadline: float) -> Dict[str, Json]:
    entries: Dict[str, Json] = {}
    for one in changed:
        if time.monotonic() > deadline:
            left.append("%s: no time was left" % one.name)
            continue
        try:
            entry = _add(file, one)
        except _Unreadable as problem:
            left.append("%s: %s" % (one.name, problem))
            continue
        entries[one.name] = entry
    file.write(tar.end_of_archive(file.tell()))
    return entries


class _Unreadable(Exception):
    pass


def _add(file: Any, one: Found) -> Json:
    """As it is now. What grows meanwhile is taken up to the size that it had."""
    try:
        descriptor = os.open(one.path, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError as problem:
        raise _Unreadable(problem.strerror) from None
    with os.fdopen(descriptor, "rb") as source:
        status = os.fstat(source.fileno())
        executable = bool(status.st_mode & stat.S_IXUSR)
        mode = 0o755 if executable else 0o644
        file.write(tar.header(os.fsencode(one.name), status.st_size, mode))
        start, digest, left = file.tell(), hashlib.sha256(), status.st_size
        while left:
            block = source.read(min(_BLOCK, left))
            if not block:
                file.write(bytes(left))  # so that what follows stands where the header says
                file.write(tar.padding(status.st_size))
                raise _Unreadable("it became shorter while it was saved")
            digest.update(block)
            file.write(block)
            left -= len(block)
        file.write(tar.padding(status.st_size))
    return {
        "size": status.st_size,
        "mtime_ns": status.st_mtime_ns,
        "executable": executable,
        "sha256": digest.hexdigest(),
        "offset": start,
    }


def _verify(path: str, entries: Dict[str, Json]) -> None:
    """Read back: what is promised at home must be what was here."""
    with open(path, "rb", buffering=0) as file:
        with contextlib.suppress(OSError, AttributeError):
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        for name, entry in entries.items():
            if digest_at(file, entry["offset"], entry["size"]) != entry["sha256"]:
                raise Damaged(0, "%s is not what was written" % name)


def digest_at(file: Any, offset: int, size: int) -> str:
    digest = hashlib.sha256()
    file.seek(offset)
    while size:
        block = file.read(min(_BLOCK, size))
        if not block:
            break
        digest.update(block)
        size -= len(block)
    return digest.hexdigest()
