"""Packs, other tars, and WebDataset's shards: several tars, numbered, that are one dataset."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from voyageur.data.errors import told_name
from voyageur.errors import SpecError
from voyageur.job import data
from voyageur.job.data import NotAPack, Pack, tar
from voyageur.job.data.folder import Listed
from voyageur.job.data.index import SUFFIX
from voyageur.job.data.pack import as_bytes

_NUMBERED = re.compile(r"(.*)-(\d{4,8})\.tar")


def name_of_all(path: str) -> str | None:
    """`train.tar` for `train-000000.tar`."""
    found = _NUMBERED.fullmatch(path)
    return f"{found[1]}.tar" if found else None


def siblings(path: str) -> list[str]:
    """All shards of which this is the first, by their numbers."""
    found = _NUMBERED.fullmatch(os.path.abspath(path))
    if not found or int(found[2]):
        return [path]
    folder, name = os.path.split(found[1])
    form = re.compile(rf"{re.escape(name)}-\d{{{len(found[2])}}}\.tar")
    return [os.path.join(folder, one) for one in sorted(os.listdir(folder)) if form.fullmatch(one)]


def is_tar(path: str) -> bool:
    if os.path.isfile(path + SUFFIX) and not os.path.exists(path):
        return True  # shards, under the name of all
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        start = file.read(tar.BLOCK)
    return path.endswith(SUFFIX) or tar.is_header(start) or tar.compression(start) is not None


def open_tar(path: str, _: str) -> Pack:
    together = name_of_all(path)
    if together and os.path.exists(together + SUFFIX):
        return data.open(together, check=True)
    several = siblings(path)
    return Joined(path, several) if len(several) > 1 else data.open(path, check=True)


class Joined(Listed):
    """Shards without an index of their own."""

    def __init__(self, path: str, paths: list[str]) -> None:
        self._packs = list(_opened(paths))
        self._where: dict[bytes, tuple[Pack, int]] = {}
        self.left_out = {}
        for pack in self._packs:
            for number, text in enumerate(pack.names):
                name = as_bytes(text)
                if name in self._where and self._where[name][0] is not pack:
                    raise _clash(name, self._where[name][0], pack)
                self._where[name] = (pack, number)
            for what, count in pack.left_out.items():
                self.left_out[what] = self.left_out.get(what, 0) + count
        super().__init__(path, list(self._where))

    def _size(self, number: int) -> int:
        pack, at = self._where[self._names[number]]
        return pack.size(at)

    def _view(self, number: int) -> memoryview:
        pack, at = self._where[self._names[number]]
        return pack.view(at)

    def _read(self, number: int) -> bytes:
        return bytes(self._view(number))


def _opened(paths: list[str]) -> Iterator[Pack]:
    for path in paths:
        try:
            yield data.open(path, check=True)
        except NotAPack as problem:
            raise NotAPack(f"one of {len(paths)} shards is no tar: {problem.what}", problem.facts) from None


def _clash(name: bytes, one: Pack, other: Pack) -> SpecError:
    facts = [f"{told_name(name)}: in {one.path} and in {other.path}"]
    return SpecError("two files of one name", facts=facts, hint="convert each shard by itself")
