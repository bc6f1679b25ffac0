"""The private folder on the node's disk that one dataset arrives in, shared by all tasks and runs of a user there.

    arrived     one byte a chunk: 0 not yet, 1 here and verified, 2 cannot be had as it should be
    partial/    what is arriving
    whole/      the same, renamed when all of it has arrived: what is here is whole

It is named after the content, so that a run that comes back to the node finds what it left.
"""

import contextlib
import fcntl
import hashlib
import json
import mmap
import os
import shutil
import threading
from typing import Any, Dict, Iterator, List, Mapping, Optional

from voyageur.runtime.folder import read_json, write_atomically
from voyageur.runtime.node_folder import NodeFolder, base_folder, sweep, want, want_no_more
from voyageur.runtime.staging.cargo import FILE_, FOLDER_, LINK_, Cargo, spread
from voyageur.runtime.staging.look import FOLDER, NotThere, look
from voyageur.runtime.staging.wanted import Wanted

NOT_YET, HERE, BROKEN = 0, 1, 2
_GATE = ".voyageur.staging"
_CARGO = "cargo.json"
_OUTCOME = "outcome-%s.json"  # of each run that uses it
_BOOT = "/proc/sys/kernel/random/boot_id"


class Hold:
    def __init__(self, environment: Mapping[str, str], node: str, key: str) -> None:
        base = base_folder(environment)
        sweep(base)
        # After a start of the machine nobody knows what had reached the disk: then it is another folder.
        digest = hashlib.sha256((_boot() + key).encode("utf-8", "surrogateescape")).hexdigest()[:24]
        name = "voy-%d-data-%s-%s" % (os.getuid(), digest, node)
        self._folder = NodeFolder(os.path.join(base, name), name)
        self.path = self._folder.path
        self.partial = os.path.join(self.path, "partial")
        self.whole = os.path.join(self.path, "whole")
        self.arrived_file = os.path.join(self.path, "arrived")
        self._attempt = environment.get("VOY_ATTEMPT", "0")
        self._outcome = os.path.join(self.path, _OUTCOME % environment["VOY_TOKEN"])
        self._token, self._run = environment["VOY_TOKEN"], environment["VOY_RUN_DIR"]
        want(self.path, self._token, self._run)

    def leave(self, comes_back: bool) -> None:
        """Removed when nobody is left who uses it, unless the run may come back to this node."""
        if comes_back:
            want(self.path, self._token, self._run)
        else:
            want_no_more(self.path, self._token)
        self._folder.leave()

    def is_whole(self) -> bool:
        return os.path.isdir(self.whole)

    @contextlib.contextmanager
    def gate(self, wait: bool = True) -> "Iterator[bool]":
        """One process of the node stages. False when another one does, and we do not wait."""
        descriptor = os.open(os.path.join(self.path, _GATE), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except BlockingIOError:
                yield False
                return
            yield True
        finally:
            os.close(descriptor)

    # ── what one process tells the others ────────────────────────────────────────────────────────────────────────────

    def tell(self, **outcome: Any) -> None:
        write_atomically(self._outcome, json.dumps(dict(outcome, attempt=self._attempt)).encode("ascii"))

    def outcome(self) -> Dict[str, Any]:
        """Of this attempt: what another one met may be over."""
        found = read_json(self._outcome) or {}
        return found if found.get("attempt") == self._attempt else {}

    def cargo(self) -> Optional[Cargo]:
        found = read_json(os.path.join(self.path, _CARGO))
        return Cargo.from_json(found) if found else None

    # ── arriving ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def begin(self, cargo: Cargo) -> "Arrival":
        """Goes on where a killed process was; begins anew when the cargo is another."""
        path = os.path.join(self.path, _CARGO)
        found = self.cargo()
        if (
            found is None
            or found.fingerprint() != cargo.fingerprint()
            or not os.path.isdir(self.partial)
            or not os.path.exists(self.arrived_file)
        ):
            self._clear()
            _lay_out(cargo, self.partial)
            with open(self.arrived_file, "wb") as file:
                file.write(bytes(len(cargo.chunks) or 1))
            write_atomically(path, json.dumps(dict(cargo.as_json(), first=cargo.first_chunks())).encode("ascii"))
        return Arrival(self, cargo)

    def _clear(self) -> None:
        for path in (os.path.join(self.path, _CARGO), self.arrived_file, self._outcome):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
        with contextlib.suppress(OSError):
            os.unlink(self.whole)  # one that was finished where it was unpacked is a link
        for folder in (self.partial, self.whole):
            shutil.rmtree(folder, ignore_errors=True)

    def drop_partial(self) -> None:
        shutil.rmtree(self.partial, ignore_errors=True)

    def give_up(self) -> None:
        """Room for others: what has arrived of something that cannot become whole."""
        self.drop_partial()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(self.path, _CARGO))


def _boot() -> str:
    with contextlib.suppress(OSError), open(_BOOT) as file:
        return file.read().strip()
    return ""


def _lay_out(cargo: Cargo, root: str) -> None:
    """All files at their full size, but empty; links come last, when nothing is written any more."""
    os.mkdir(root, 0o700)
    for item in cargo.items:
        path = _inside(root, item.name)
        if item.kind == FOLDER_:
            os.makedirs(path, 0o755, exist_ok=True)
        elif item.kind == FILE_:
            os.makedirs(os.path.dirname(path), 0o755, exist_ok=True)
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, item.mode)
            try:
                os.ftruncate(descriptor, item.size)
            finally:
                os.close(descriptor)


def _inside(root: str, name: str) -> str:
    if os.path.isabs(name) or ".." in name.split("/"):
        raise ValueError("%r is no name inside a dataset" % name)
    return os.path.join(root, name)


def hold_for(one: Wanted, environment: Mapping[str, str], node: str) -> Hold:
    """Named by the content where that is known, else by the file as it is now; a folder is known only to its run."""
    found = look(one.source, most=1)
    if one.digest and found.digest != one.digest:
        raise NotThere("%s is not the one that was planned: what is written of its content is another" % found.path)
    if found.kind == FOLDER:
        identity = "%s %s" % (environment["VOY_TOKEN"], found.path)
    else:
        identity = found.digest or "%s %r" % (found.path, _as_it_is(found.path))
    return Hold(
        environment, node, "\n".join(["staged" if one.stage in ("index", "copy") else one.stage, found.path, identity])
    )


def _as_it_is(path: str) -> "tuple[int, int, int]":
    status = os.stat(path)
    return status.st_size, status.st_mtime_ns, status.st_ino


class Arrival:
    """Chunks on their way to their places. Several threads write; whoever waits for a chunk is woken."""

    def __init__(self, hold: Hold, cargo: Cargo) -> None:
        self.hold = hold
        self.cargo = cargo
        descriptor = os.open(hold.arrived_file, os.O_RDWR)
        self._state = mmap.mmap(descriptor, 0)
        os.close(descriptor)
        self._changed = threading.Condition()
        self.failed = False

    def missing(self) -> List[int]:
        return [number for number in range(len(self.cargo.chunks)) if self._state[number] != HERE]

    def put(self, number: int, content: bytes) -> None:
        for piece, part in spread(self.cargo, number, content):
            descriptor = os.open(
                _inside(self.hold.partial, self.cargo.items[piece.item].name), os.O_WRONLY | os.O_NOFOLLOW
            )
            try:
                _write_all(descriptor, part, piece.offset)
            finally:
                os.close(descriptor)
        self._mark(number, HERE)

    def break_off(self, number: int) -> None:
        self._mark(number, BROKEN)

    def is_broken(self, number: int) -> bool:
        return self._state[number] == BROKEN

    def _mark(self, number: int, state: int) -> None:
        with self._changed:
            self._state[number] = state
            self._changed.notify_all()

    def fail(self) -> None:
        with self._changed:
            self.failed = True
            self._changed.notify_all()

    def wait(self, number: int, seconds: float) -> bool:
        with self._changed:
            self._changed.wait_for(lambda: self._state[number] != NOT_YET or self.failed, seconds)
            return self._state[number] == HERE

    def content(self, number: int) -> bytes:
        """Of a chunk that is here, for the nodes below."""
        try:
            return self._content(self.hold.partial, number)
        except FileNotFoundError:  # it has become whole
            return self._content(self.hold.whole, number)

    def _content(self, root: str, number: int) -> bytes:
        parts = []
        for piece in self.cargo.chunks[number]:
            with open(_inside(root, self.cargo.items[piece.item].name), "rb", buffering=0) as file:
                parts.append(os.pread(file.fileno(), piece.size, piece.offset))
        return b"".join(parts)

    def finish(self) -> None:
        """All of it is here: on the disk, with its times and links, and then under its final name."""
        for item in self.cargo.items:
            path = _inside(self.hold.partial, item.name)
            if item.kind == LINK_:
                os.symlink(item.target, path)
            elif item.kind == FILE_:
                os.utime(path, ns=(item.mtime_ns, item.mtime_ns))
        os.rename(self.hold.partial, self.hold.whole)


def _write_all(descriptor: int, part: memoryview, offset: int) -> None:
    while part:
        written = os.pwrite(descriptor, part, offset)
        part, offset = part[written:], offset + written
