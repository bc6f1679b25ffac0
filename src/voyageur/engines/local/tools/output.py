"""What tasks write, carried on in whole lines: lines of different tasks do not mix."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Mapping
from typing import IO

from .layout import Place, Refused

_LONGEST_LINE = 1 << 16  # more than this is carried on as it is; a progress bar may never end its line


class Stream:
    """One of a task's two, on its way to where it belongs; -1 is nowhere."""

    def __init__(self, source: IO[bytes], target: int, prefix: bytes, in_lines: bool) -> None:
        self.source = source
        self.target = target
        self.prefix = prefix
        self.in_lines = in_lines
        self._rest = b""

    def copy(self) -> bool:
        """What is there now; False when nothing more will come."""
        try:
            block = os.read(self.source.fileno(), 1 << 16)
        except BlockingIOError:
            return True
        if not self.in_lines:
            self._write(block)
            return bool(block)
        *lines, self._rest = (self._rest + block).split(b"\n")
        if self._rest and (not block or len(self._rest) > _LONGEST_LINE):
            lines, self._rest = [*lines, self._rest], b""
        self._write(b"".join(self.prefix + line + b"\n" for line in lines))
        return bool(block)

    def drain(self) -> None:
        """The task has ended. What it started in the background may hold its pipe open; nobody waits for that."""
        os.set_blocking(self.source.fileno(), False)
        with contextlib.suppress(BlockingIOError):
            while block := os.read(self.source.fileno(), 1 << 16):
                self._rest += block
        if self._rest:
            self._finish()

    def _finish(self) -> None:
        rest, self._rest = self._rest, b""
        if not self.in_lines:
            self._write(rest)
        else:
            lines = rest.removesuffix(b"\n").split(b"\n")
            self._write(b"".join(self.prefix + line + b"\n" for line in lines))

    def _write(self, text: bytes) -> None:
        while text and self.target >= 0:
            try:
                text = text[os.write(self.target, text) :]
            except BrokenPipeError:  # `srun ... | head`: the tasks go on, as under Slurm
                self.target = -1


class Targets:
    """Standard output, or the file that `--output` or `--error` names; a file that several share is opened once."""

    def __init__(self, appends: bool, facts: Mapping[str, str]) -> None:
        self._flags = os.O_WRONLY | os.O_CREAT | (os.O_APPEND if appends else os.O_TRUNC)
        self._facts = facts
        self._open: dict[str, int] = {}

    def descriptor(self, asked: str, usual: int, place: Place, node: str) -> int:
        if asked == "all":
            return usual
        if asked == "none" or (asked.isdecimal() and int(asked) != place.rank):
            return -1
        return usual if asked.isdecimal() else self._file(self._name(asked, place, node))

    def _name(self, pattern: str, place: Place, node: str) -> str:
        """%t the rank, %n the node's number, %N its name, %j the job, %s the step, %J both, %u the user."""
        facts = {**self._facts, "t": str(place.rank), "n": str(place.node), "N": node, "%": "%"}
        return re.sub(
            r"%(\d*)([a-zA-Z%])", lambda found: facts.get(found[2], found[0]).zfill(int(found[1] or 0)), pattern
        )

    def _file(self, name: str) -> int:
        if name not in self._open:
            try:
                self._open[name] = os.open(name, self._flags, 0o666)
            except OSError as problem:
                raise Refused(f"cannot write {name}: {problem.strerror}") from None
        return self._open[name]
