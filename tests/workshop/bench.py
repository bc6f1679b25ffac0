"""A work bench for tests: a folder of wheels, a Python, and the tools, with nothing of this machine's settings."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from voyageur.env.lock import key_of
from voyageur.env.model import Built
from voyageur.workshop.locking import Ask, Locked, lock_project
from voyageur.workshop.making import Order, make
from voyageur.workshop.python import Python, find_python
from voyageur.workshop.shell import Shell, open_shell

HERE = f"{sys.version_info[0]}.{sys.version_info[1]}"


class WorkBench:
    def __init__(self, root: Path, *, with_uv: bool = True) -> None:
        self.root = root / "project"
        self.wheels = self.root / "wheels"
        self.folder = root / "environments"
        self.cache = root / "cache"
        self.with_uv = with_uv
        self.said: list[str] = []
        tmp = root / "tmp"
        for folder in (self.wheels, tmp):
            folder.mkdir(parents=True)
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(root), "TMPDIR": str(tmp), "LANG": "C.UTF-8"}
        self.tmp = tmp

    def write(self, name: str, *lines: str) -> str:
        (self.root / name).write_text("".join(f"{line}\n" for line in lines))
        return name

    def shell(self) -> Shell:
        work = self.tmp / f"work-{len(list(self.tmp.iterdir()))}"
        work.mkdir()
        return open_shell((), True, self.environment, work)

    def python(self, wanted: str | None = HERE) -> Python:
        return find_python(self.shell(), wanted)

    def lock(self, *names: str, **more: Any) -> Locked:
        ask = Ask(root=self.root, names=names or ("requirements.txt",), with_uv=self.with_uv, **more)
        return lock_project(self.shell(), self.python(), ask, self.said.append)

    def wants(self, *lines: str, **more: Any) -> Locked:
        """Of these packages, from the folder of wheels alone."""
        self.write("requirements.txt", "--no-index", "--find-links wheels", *lines)
        return self.lock(**more)

    def order(self, locked: Locked, **more: Any) -> Order:
        lock = locked.lock
        order = Order(
            key=key_of(lock),
            lock=lock,
            root=str(self.root),
            folder=str(self.folder),
            cache=str(self.cache),
            site="local",
            source="voyageur.lock",
            form="tar",
            with_uv=self.with_uv,
        )
        return replace(order, **more)

    def make(self, locked: Locked, *, again: bool = False, **more: Any) -> Built:
        return make(self.order(locked, again=again, **more), self.environment, self.said.append)

    def left(self) -> list[str]:
        """What is in the folder of environments, but the log."""
        if not self.folder.is_dir():
            return []
        return sorted(path.name for path in self.folder.iterdir() if path.suffix != ".log")
