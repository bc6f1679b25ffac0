"""What is asked of a form: to know one, to read it behind the face of a pack, to write it from one."""

from __future__ import annotations

import importlib
import os
from array import array
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from voyageur.data.sources import OTHERS, UNSAFE, is_safe
from voyageur.errors import SpecError
from voyageur.job.data import Pack
from voyageur.job.data.folder import Listed
from voyageur.job.data.pack import as_bytes
from voyageur.job.data.packed import TarPack
from voyageur.job.data.source import FileSource

OLDER = "older files of a name that comes again"

Written = Callable[[int, int], None]  # members and bytes


@dataclass
class Chosen:
    """The members of a pack that are converted, in its order: as in any tar, the last one of a name counts."""

    pack: Pack
    numbers: array[int] = field(default_factory=lambda: array("I"))
    size: int = 0
    left_out: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, pack: Pack) -> Chosen:
        chosen = cls(pack)
        chosen.left_out.update(pack.left_out)
        if isinstance(pack, TarPack):
            chosen.left_out[OTHERS] += pack.table.about.get("others", 0)
        for number, text in enumerate(pack.names):
            name = as_bytes(text)
            if not is_safe(name):
                chosen.left_out[UNSAFE] += 1
            elif pack.number(name) != number:
                chosen.left_out[OLDER] += 1
            else:
                chosen.numbers.append(number)
                chosen.size += pack.size(number)
        return chosen

    def __len__(self) -> int:
        return len(self.numbers)

    def names(self) -> Iterator[bytes]:
        return (as_bytes(self.pack.names[number]) for number in self.numbers)

    def __iter__(self) -> Iterator[tuple[bytes, memoryview]]:
        for number in self.numbers:
            yield as_bytes(self.pack.names[number]), self.pack.view(number)


@dataclass(frozen=True, kw_only=True)
class Form:
    name: str
    endings: tuple[str, ...]
    is_one: Callable[[str], bool]
    open: Callable[[str, str], Pack]  # its path, and a folder where something may be unpacked
    write: Callable[[Chosen, str, Written], None]
    refuses: Callable[[bytes, int], str] = lambda name, size: ""  # why a member cannot be in it
    is_tree: bool = False  # nothing can be a file and a folder in it
    each: int = 512  # bytes that a member takes beside its contents, at most and roughly
    beside: str = ""  # the ending of a second file


def library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise SpecError(f"{name} is not installed", hint="pip install 'voyageur[convert]'") from None


def starts_with(path: str, magic: bytes, at: int = 0) -> bool:
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        file.seek(at)
        return file.read(len(magic)) == magic


class PerProcess:
    """What must not be taken along when a process is forked: each opens its own."""

    def __init__(self, opening: Callable[[], Any]) -> None:
        self._opening = opening
        self._process = 0
        self._opened: Any = None

    def __call__(self) -> Any:
        if self._process != os.getpid():
            self._opened, self._process = self._opening(), os.getpid()
        return self._opened


class Located(Listed):
    """Members that lie plain in one file."""

    def __init__(self, path: str, source: FileSource, places: dict[bytes, tuple[int, int]]) -> None:
        self._source, self._places = source, places
        super().__init__(path, list(places))

    def _size(self, number: int) -> int:
        return self._places[self._names[number]][1]

    def _view(self, number: int) -> memoryview:
        return self._source.view(*self._places[self._names[number]])

    def _read(self, number: int) -> bytes:
        return bytes(self._view(number))
