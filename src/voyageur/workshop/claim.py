"""Two builds of the same environment at once build once: a file that one of them holds, and keeps showing life in.

Ages are told by the file system's own clock, so that two machines whose clocks differ agree.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from voyageur.runtime.folder import read_json

_BEAT = 10.0
_SILENT = 90.0  # seconds: nine missed beats
_PAUSE = 0.5


class Claim:
    """Held while it is entered. `is_ours` before anything is published: a machine that slept may have lost it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.token = secrets.token_hex(8)
        self._ended = threading.Event()
        self._life: threading.Thread | None = None

    def try_to_hold(self) -> bool:
        """A link to a finished file appears whole, and only for one of two that try."""
        if _create(self.path, self._words()) or (self.holder_is_gone() and self._take_over()):
            self._life = threading.Thread(target=self._beat, daemon=True)
            self._life.start()
            return True
        return False

    def release(self) -> None:
        self._ended.set()
        if self._life:
            self._life.join()
        if self.is_ours():
            self.path.unlink(missing_ok=True)

    def is_ours(self) -> bool:
        return (read_json(str(self.path)) or {}).get("token") == self.token

    def holder(self) -> str:
        told = read_json(str(self.path)) or {}
        return f"process {told.get('pid', '?')} on {told.get('host', '?')}"

    def _words(self) -> bytes:
        return json.dumps({"host": os.uname().nodename, "pid": os.getpid(), "token": self.token}).encode("ascii")

    def _beat(self) -> None:
        while not self._ended.wait(_BEAT):
            with contextlib.suppress(OSError):
                if self.is_ours():
                    os.utime(self.path)

    def holder_is_gone(self) -> bool:
        """A process of its number may be another one by now: it is there, and shows no life."""
        told = read_json(str(self.path)) or {}
        is_of_here = told.get("host") == os.uname().nodename and isinstance(told.get("pid"), int)
        if is_of_here and not os.path.exists(f"/proc/{told['pid']}"):
            return True
        try:
            return _now_on(self.path.parent) - self.path.stat().st_mtime > _SILENT
        except OSError:
            return False

    def _take_over(self) -> bool:
        """Of several that see the dead one, the one whose rename succeeds; what was renamed may be newer by now."""
        seen = read_json(str(self.path)) or {}
        aside = self.path.with_name(f".{self.path.name}.{self.token}")
        try:
            os.rename(self.path, aside)
        except OSError:
            return False
        taken = read_json(str(aside)) or {}
        if taken.get("token") != seen.get("token"):
            with contextlib.suppress(OSError):
                os.link(aside, self.path)
            aside.unlink(missing_ok=True)
            return False
        aside.unlink(missing_ok=True)
        return _create(self.path, self._words())


@contextlib.contextmanager
def held(path: Path, wait: Callable[[str], None]) -> Iterator[Claim]:
    """`wait` is told who holds it, once for each who does."""
    claim, told = Claim(path), ""
    while not claim.try_to_hold():
        if (holder := claim.holder()) != told:
            told = holder
            wait(holder)
        time.sleep(_PAUSE)
    try:
        yield claim
    finally:
        claim.release()


def _create(path: Path, words: bytes) -> bool:
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        temporary.write_bytes(words)
        return _linked(temporary, path, words)
    finally:
        temporary.unlink(missing_ok=True)


def _linked(whole: Path, path: Path, words: bytes) -> bool:
    try:
        os.link(whole, path)
        return True
    except FileExistsError:
        return False
    except OSError:  # no hard links here
        return _create_exclusively(path, words)


def _create_exclusively(path: Path, words: bytes) -> bool:
    try:
        file = open(path, "xb")  # noqa: SIM115  # closed below
    except FileExistsError:
        return False
    try:
        with file:
            file.write(words)
        return True
    except OSError:
        path.unlink(missing_ok=True)
        raise


def _now_on(folder: Path) -> float:
    probe = folder / f".now.{secrets.token_hex(8)}"
    probe.write_bytes(b"")
    try:
        return probe.stat().st_mtime
    finally:
        probe.unlink(missing_ok=True)


def is_held(path: Path) -> bool:
    """By somebody who shows life."""
    return path.exists() and not Claim(path).holder_is_gone()
