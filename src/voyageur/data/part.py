"""The hidden folder beside a pack where it is made: it goes on from there, and moves to its name when it is whole."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
from collections.abc import Sequence
from typing import Any

from voyageur.data.journal import Journal
from voyageur.errors import RunError
from voyageur.job.data.index import SUFFIX, Index
from voyageur.runtime.folder import sync_folder, write_whole


class PartFolder:
    def __init__(self, out: str, asked: object) -> None:
        self._folder, self.name = os.path.split(os.path.abspath(out))
        self.path = os.path.join(self._folder, f".{self.name}.part")
        with contextlib.suppress(FileExistsError):
            os.mkdir(self.path, 0o700)
        self.journal = Journal(os.path.join(self.path, "journal"), json.dumps(asked, sort_keys=True).encode())
        self._lock_file = os.open(os.path.join(self.path, "lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._lock()

    @property
    def index(self) -> str:
        return self.name + SUFFIX

    def _lock(self) -> None:
        """Of the kind that the processes which read files do not inherit: they may outlive a kill for a moment."""
        try:
            fcntl.lockf(self._lock_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            self.close()
            raise RunError(f"another `voy data pack` is at work on {self.name}", facts=[self.path]) from None
        except OSError:
            return  # a file system without locks

    def facts(self) -> dict[str, Any]:
        """What the index says about the pack."""
        return Index.load(os.path.join(self.path, self.index)).about

    def is_whole(self) -> bool:
        """An earlier packing was stopped while it moved the pack to its name."""
        return self.journal.is_ours() and os.path.exists(os.path.join(self.path, self.index))

    def complete(self, index: Sequence[bytes]) -> None:
        def write(temporary: str) -> None:
            with open(temporary, "wb") as file:
                file.writelines(index)

        write_whole(os.path.join(self.path, self.index), write, mode=0o666)

    def publish(self) -> list[str]:
        """The index comes last: without it, there is no pack."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(self._folder, self.index))  # of a pack that this one replaces
        index = Index.load(os.path.join(self.path, self.index))
        names = [archive.name for archive in index.archives]
        for name in [*names, self.index]:
            made = os.path.join(self.path, name)
            if os.path.exists(made):
                os.rename(made, os.path.join(self._folder, name))
        sync_folder(self._folder)
        self.remove()
        return [os.path.join(self._folder, name) for name in names]

    def remove(self) -> None:
        shutil.rmtree(self.path)

    def close(self) -> None:
        self.journal.close()
        os.close(self._lock_file)
