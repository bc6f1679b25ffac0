"""One dataset's way onto the node's disk: what travels, is there room, bring it, unpack it, give it its final name."""

import contextlib
import json
import os
import shutil
import subprocess
import threading
from typing import Any, Callable, List, Optional, Sequence

from voyageur.job.data.errors import DataError
from voyageur.job.data.extract import Limits, unpack
from voyageur.runtime.staging import look as kinds
from voyageur.runtime.staging.cargo import Cargo, load_cargo
from voyageur.runtime.staging.carry import Above, Carrier, Damaged
from voyageur.runtime.staging.hold import Arrival, Hold
from voyageur.runtime.staging.look import Look, look
from voyageur.runtime.staging.own import NotUnpacked, unpack_own
from voyageur.runtime.staging.room import free_bytes, in_units, lacking
from voyageur.runtime.staging.wanted import Wanted, unpacked_name

Offer = Callable[[str, Optional[Arrival]], None]


class NoRoom(Exception):
    """It does not fit, and the program can do without: shared storage has it."""


class Failed(Exception):
    """It cannot be had as the plan says."""


class Stage:
    def __init__(
        self,
        one: Wanted,
        hold: Hold,
        above: Above,
        offer: Offer,
        told: Callable[[Wanted, int, int], None],
        finish: Sequence[str] = (),
    ) -> None:
        self.one = one
        self._finish = finish
        self.hold = hold
        self.size = self.shared_bytes = self.other_bytes = 0
        self._above = above
        self._offer = offer
        self._told = told
        self._done = 0

    def run(self) -> None:
        found = look(self.one.source, most=1)
        cargo = self._cargo(found)
        self.size = cargo.size
        self._check_room(found, cargo)
        try:
            arrival = self.hold.begin(cargo)
            self._done = cargo.size - sum(cargo.chunk_size(number) for number in arrival.missing())
            self._offer(self.one.name, arrival)
            self._bring(arrival, found)
        except OSError as problem:
            self._offer(self.one.name, None)
            self.hold.give_up()
            if self._needs_disk(found):
                raise Failed("the disk of this node: %s" % problem.strerror) from None
            raise NoRoom(problem.strerror or str(problem)) from None

    def origin(self) -> str:
        if not self.other_bytes:
            return "from shared storage" if self.shared_bytes else "most of it was here"
        if not self.shared_bytes:
            return "from another node of the run"
        return "%s of it from shared storage, the rest from another node" % in_units(self.shared_bytes)

    def _cargo(self, found: Look) -> Cargo:
        """The list that the node above has, so that it is read from shared storage once."""
        told = self._above.cargo(self.one.name)
        if told:
            cargo = Cargo.from_json(json.loads(told.decode("ascii")))
            cargo.base = os.path.dirname(found.path)
            return cargo
        return load_cargo(found)

    def _needs_disk(self, found: Look) -> bool:
        """What is mounted can be mounted from shared storage, too."""
        return self._is_unpacked(found)

    def _check_room(self, found: Look, cargo: Cargo) -> None:
        need, files = cargo.size, len(cargo.items)
        if self._is_unpacked(found):
            need, files = need + (found.unpacked or 0), files + (found.members or 0)
        lack = lacking(self.hold.path, need, files)
        if not lack:
            return
        self._offer(self.one.name, None)
        if self._needs_disk(found):
            raise Failed("it does not fit on this node's disk: %s" % lack)
        raise NoRoom(lack)

    def _is_unpacked(self, found: Look) -> bool:
        return self.one.stage == "unpack" and found.kind in kinds.ARCHIVES

    # ── bringing ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def _bring(self, arrival: Arrival, found: Look) -> None:
        carrier = Carrier(self.one.name, arrival, self._above, self._count)
        try:
            if self._is_unpacked(found):
                self._bring_and_unpack(carrier, arrival, found)
            else:
                carrier.run()
                arrival.finish()
        finally:
            self.shared_bytes, self.other_bytes = carrier.shared_bytes, carrier.other_bytes

    def _count(self, size: int) -> None:
        self._done += size
        self._told(self.one, self._done, self.size)

    def _bring_and_unpack(self, carrier: Carrier, arrival: Arrival, found: Look) -> None:
        """A tar is unpacked while it arrives; other archives when they are here."""
        problems: List[BaseException] = []
        streams = found.kind in (kinds.PACK, kinds.TAR, kinds.COMPRESSED) and len(arrival.cargo.first_chunks()) <= 2
        bringer = threading.Thread(target=_catching, args=(carrier, arrival, problems))
        bringer.start()
        try:
            if not streams:
                bringer.join()
            if not problems:
                self._unpack(arrival, found, streams)
        except (DataError, Damaged, Failed, NotUnpacked):
            bringer.join()
            if not problems:
                raise
        bringer.join()
        if problems:
            raise problems[0]
        if self._finish:
            self._finish_in_place(found)
        else:
            os.rename(self._unpacked, self.hold.whole)

    def _finish_in_place(self, found: Look) -> None:
        """A packed conda environment learns where it is, and may not be moved afterwards."""
        folder = os.path.join(self._unpacked, unpacked_name(found.path))
        words = [os.path.join(folder, self._finish[0]), *self._finish[1:]]
        answer = subprocess.run(words, cwd=folder, capture_output=True, text=True, errors="replace", check=False)
        if answer.returncode != 0:
            raise Failed("%s: %s" % (" ".join(self._finish), answer.stderr.strip()[-300:]))
        os.symlink(os.path.basename(self._unpacked), self.hold.whole)

    def _limits(self) -> Limits:
        return Limits(free_bytes(self.hold.path))

    @property
    def _unpacked(self) -> str:
        return os.path.join(self.hold.path, "unpacked")

    def _unpack(self, arrival: Arrival, found: Look, streams: bool) -> None:
        shutil.rmtree(self._unpacked, ignore_errors=True)
        os.mkdir(self._unpacked, 0o700)
        target = os.path.join(self._unpacked, unpacked_name(found.path))
        archive = os.path.join(self.hold.partial, os.path.basename(found.path))
        try:
            if found.kind == kinds.SQUASHFS:
                _unsquash(archive, target, '; `env.form = "tar"` needs neither' if self.one.is_environment else "")
            elif streams and self.one.is_environment:
                unpack_own(Follower(arrival), target)
            elif streams:
                unpack(found.path, target, self._limits(), [Follower(arrival)])
            elif found.kind == kinds.ZIP:
                unpack(archive, target, self._limits())
            else:
                with contextlib.ExitStack() as stack:
                    paths = [os.path.join(self.hold.partial, name) for name in _archives(arrival.cargo)]
                    unpack(
                        found.path, target, self._limits(), [stack.enter_context(open(path, "rb")) for path in paths]
                    )
        except BaseException:
            shutil.rmtree(self._unpacked, ignore_errors=True)
            raise


def _archives(cargo: Cargo) -> List[str]:
    return [item.name for item in cargo.items if not item.name.endswith(".idx")]


def _catching(carrier: Carrier, arrival: Arrival, problems: List[BaseException]) -> None:
    try:
        carrier.run()
    except Exception as problem:
        problems.append(problem)
        arrival.fail()


def _unsquash(image: str, target: str, otherwise: str) -> None:
    tool = shutil.which("unsquashfs")
    if not tool:
        raise Failed("this node has no program that mounts a squashfs image, and no `unsquashfs`%s" % otherwise)
    answer = subprocess.run([tool, "-no-progress", "-dest", target, image], capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        raise Failed("unsquashfs: %s" % answer.stderr.strip())


class Follower:
    """Reads an archive from its beginning while it arrives."""

    def __init__(self, arrival: Arrival) -> None:
        self._arrival = arrival
        self._number = 0
        self._chunk = memoryview(b"")
        self._last = len(arrival.cargo.chunks)
        self._end = arrival.cargo.items[0].size

    def read(self, size: int) -> bytes:
        parts: List[Any] = []
        left = min(size, self._end)
        while left:
            if not self._chunk and not self._next():
                break
            part = self._chunk[:left]
            parts.append(part)
            self._chunk, left = self._chunk[len(part) :], left - len(part)
        found = b"".join(parts)
        self._end -= len(found)
        return found

    def _next(self) -> bool:
        if self._number >= self._last:
            return False
        while not self._arrival.wait(self._number, 5.0):
            if self._arrival.failed:
                raise DataError("it did not arrive")
            if self._arrival.is_broken(self._number):
                raise Damaged("part %d" % self._number)
        self._chunk = memoryview(self._arrival.content(self._number))
        self._number += 1
        return True
