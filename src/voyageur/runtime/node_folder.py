"""A private folder on the node's own disk: the code is unpacked there, and it is gone when the last task leaves.

/tmp belongs to everybody. A folder that somebody else prepared under our name, or a link, is refused; nothing is
deleted that does not carry our own mark; and whether a folder is still in use is asked of the kernel, by a lock.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import stat
import tarfile
import time
from typing import Any, Callable, Dict, List, Mapping

from voyageur.job import HEARD
from voyageur.runtime.folder import MARKER as DONE
from voyageur.runtime.folder import Json, read_json, write_atomically
from voyageur.runtime.mounts import let_go_below

MARK = ".voyageur"
_USAGE = MARK + ".usage-"
_WANTED = MARK + ".run-"
_KEPT = MARK + ".kept"
_KEPT_SECONDS = 86_400.0  # what waits for a run that was put back into the queue
_RESULTS_SECONDS = 7 * 86_400.0  # results for which there was no room at home
_SETTLED_SECONDS = 60  # younger folders may still be on their way to their lock


class NodeFolderError(Exception):
    pass


class NodeFolder:
    def __init__(self, path: str, token: str) -> None:
        self.path = path
        self.token = token
        self.code = os.path.join(path, "code")
        self._lock = self._enter()
        if os.fstat(self._lock).st_size == 0:
            os.pwrite(self._lock, json.dumps({"token": token}).encode(), 0)

    def _enter(self) -> int:
        """The shared lock on the folder's mark; again, if another task of this node is removing the folder just now."""
        while True:
            try:
                _make_private(self.path)
                lock = os.open(os.path.join(self.path, MARK), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
            except FileNotFoundError:
                continue
            fcntl.flock(lock, fcntl.LOCK_SH)
            if os.fstat(lock).st_nlink:
                return lock
            os.close(lock)

    def unpack(self, archive: str, checksum: str) -> None:
        """Once per node: the first task to come unpacks, the others wait for it."""
        gate = os.open(os.path.join(self.path, MARK + ".unpacking"), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(gate, fcntl.LOCK_EX)
            if not os.path.isdir(self.code):
                _unpack(archive, checksum, self.code)
                os.pwrite(gate, b"unpacked", 0)  # and its time is that of the unpacking
        finally:
            os.close(gate)

    def unpacked_at(self) -> int:
        return unpacked_at(self.path)

    def stop_was_seen(self) -> bool:
        """Did the program ask `job.should_stop()` and hear yes?"""
        return os.path.exists(os.path.join(self.path, HEARD))

    def write_usage(self, rank: str, facts: Json) -> None:
        """What one task used, for the last one on this node to add up."""
        with contextlib.suppress(OSError), open(os.path.join(self.path, _USAGE + rank), "w") as file:
            json.dump(facts, file)

    def usage(self) -> List[Json]:
        found = [read_json(os.path.join(self.path, name)) for name in os.listdir(self.path) if name.startswith(_USAGE)]
        return [facts for facts in found if facts]

    def leave(self, last: Callable[[], None] = lambda: None) -> None:
        """If no other task of this node is still here, do what the `last` one does, and remove it."""
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if still_wanted(self.path):
                return
            # The shared lock is given up before the new one is granted: another may have removed the folder in
            # between, and what now has its name is somebody else's.
            if os.fstat(self._lock).st_nlink:
                try:
                    last()
                finally:
                    self._remove()
        except OSError:
            pass
        finally:
            os.close(self._lock)

    def _remove(self) -> None:
        if (read_json(os.path.join(self.path, MARK)) or {}).get("token") != self.token:
            return
        # Out of the way first: whoever comes now makes a folder of its own, and never stands in a half-removed one.
        gone = "%s.gone-%d" % (self.path, os.getpid())
        os.rename(self.path, gone)
        _remove_marked(gone)


def open_node_folder(environment: Mapping[str, str], node: str) -> NodeFolder:
    """One of our own, also inside a folder that the site has made for the job: what else is in there is not ours."""
    token, base = environment["VOY_TOKEN"], base_folder(environment)
    sweep(base)
    name = "voy-%d-%s-%s-%s" % (os.getuid(), token, environment.get("VOY_ATTEMPT", "0"), node)
    return NodeFolder(os.path.join(base, name), token)


def unpacked_at(path: str) -> int:
    """When the code in this folder was, in nanoseconds, by the clock that stamps the files here."""
    return os.stat(os.path.join(path, MARK + ".unpacking")).st_ctime_ns


def _make_private(path: str) -> None:
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        found = os.lstat(path)
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
            raise NodeFolderError(
                "%s on this node is not a private folder of ours; somebody else made it" % path
            ) from None
    except OSError as problem:
        raise NodeFolderError("no folder can be made on this node's disk: %s" % problem) from None


def _unpack(archive: str, checksum: str, target: str) -> None:
    _verify(archive, checksum)
    partial = "%s.partial-%d" % (target, os.getpid())
    options: Dict[str, Any] = {"filter": "fully_trusted"} if hasattr(tarfile, "data_filter") else {}
    try:
        with tarfile.open(archive) as tar:  # our own archive, just compared with its checksum
            tar.extractall(partial, **options)  # noqa: S202
        os.rename(partial, target)
    except OSError as problem:
        remove_tree(partial)
        raise NodeFolderError("the code does not fit on this node's disk: %s" % problem) from None


def _verify(archive: str, checksum: str) -> None:
    digest = hashlib.sha256()
    try:
        with open(archive, "rb") as file:
            for block in iter(lambda: file.read(1 << 20), b""):
                digest.update(block)
    except OSError as problem:
        raise NodeFolderError("the frozen code cannot be read: %s" % problem) from None
    if digest.hexdigest() != checksum:
        raise NodeFolderError("the frozen code %s is damaged: its checksum is not the one of the plan" % archive)


def base_folder(environment: Mapping[str, str]) -> str:
    """Where the site wants temporary files, if that is a folder on this node."""
    for name in ("VOY_SITE_TMPDIR", "VOY_TMP_BASE", "TMPDIR"):
        folder = environment.get(name, "")
        if os.path.isabs(folder) and os.path.isdir(folder) and os.access(folder, os.W_OK):
            return folder
    return "/tmp"  # noqa: S108 - what is made there is made private


def sweep(base: str, token: str = "", settled: float = _SETTLED_SECONDS) -> int:
    """Remove what dead runs of this user left here: SIGKILL and power cuts leave nobody to clean up."""
    removed = 0
    with contextlib.suppress(OSError):
        for name in os.listdir(base):
            path = os.path.join(base, name)
            if name.startswith("voy-%d-%s" % (os.getuid(), token)):
                removed += _remove_if_abandoned(path, settled)
    return removed


def _remove_if_abandoned(path: str, settled: float) -> bool:
    try:
        found = os.lstat(path)
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or os.path.ismount(path):
            return False
        if time.time() - found.st_mtime < settled:
            return False
        descriptor = os.open(os.path.join(path, MARK), os.O_RDWR | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if still_wanted(path):
            return False
        _remove_marked(path)
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)


def _remove_marked(path: str) -> None:
    """Its mark goes last, so that the next sweep finds what we did not come to the end of."""
    let_go_below(path)
    os.chmod(path, 0o700)
    for name in os.listdir(path):
        if name != MARK:
            _remove_entry(os.path.join(path, name))
    if os.listdir(path) == [MARK]:
        remove_tree(path)


def _remove_entry(path: str) -> None:
    remove_tree(path)
    with contextlib.suppress(OSError):
        os.unlink(path)


def want(path: str, token: str, run_folder: str) -> None:
    """Somebody will come back for what is in this folder: it is not swept as long as the run has not ended."""
    write_atomically(os.path.join(path, _WANTED + token), json.dumps({"run": run_folder}).encode("ascii"))


def want_no_more(path: str, token: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(os.path.join(path, _WANTED + token))


def keep(path: str) -> None:
    """What is in this folder is nowhere else: it is not swept for a week."""
    write_atomically(os.path.join(path, _KEPT), b"")


def still_wanted(path: str) -> bool:
    with contextlib.suppress(OSError):
        for name in os.listdir(path):
            note = os.path.join(path, name)
            if name.startswith(_WANTED) and _may_come_back(note):
                return True
            if name == _KEPT and time.time() - os.lstat(note).st_mtime < _RESULTS_SECONDS:
                return True
    return False


def _may_come_back(note: str) -> bool:
    run = (read_json(note) or {}).get("run", "")
    with contextlib.suppress(OSError):
        kept = time.time() - os.lstat(note).st_mtime
        return kept < _KEPT_SECONDS and os.path.isdir(run) and not os.path.exists(os.path.join(run, DONE))
    return False


def remove_tree(path: str) -> None:
    """Everything below, never through a link; folders that the program closed are opened first."""
    if os.path.islink(path) or not os.path.isdir(path):
        return
    shutil.rmtree(path, ignore_errors=True)
    if os.path.isdir(path):
        _open_folders(path)
        shutil.rmtree(path, ignore_errors=True)


def _open_folders(path: str) -> None:
    with contextlib.suppress(OSError):
        os.chmod(path, 0o700)
        with os.scandir(path) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    _open_folders(entry.path)
