"""What was found in a project: values for keys that there are, and remarks for people."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from voyageur.spec.keys import KEYS


class Clue(Struct, frozen=True, kw_only=True):
    """A value for a key, and where it was found. Not `sure`: worth a look, but written as a comment only.

    What is true on a cluster alone (its account, its modules, its GPUs) would stop `voy run` on a laptop.
    """

    key: str
    value: Any
    because: str
    sure: bool = True
    on_cluster: bool = False


class Found(Struct, frozen=True, kw_only=True):
    clues: tuple[Clue, ...] = ()
    remarks: dict[str, tuple[str, ...]] = {}
    experiments: dict[str, tuple[Clue, ...]] = {}
    summary: tuple[str, ...] = ()

    def get(self, key: str) -> Clue | None:
        return next((clue for clue in self.clues if clue.key == key), None)

    @property
    def for_cluster(self) -> tuple[Clue, ...]:
        return tuple(clue for clue in self.clues if clue.on_cluster and clue.sure)


def only_right(clues: Iterable[Clue]) -> list[Clue]:
    """Those that the spec would take, the first of each key."""
    kept: dict[str, Clue] = {}
    for clue in clues:
        if clue.key not in kept and is_right(clue.key, clue.value):
            kept[clue.key] = clue
    return list(kept.values())


def is_right(key: str, value: Any) -> bool:
    try:
        KEYS[key](value)
        str(value).encode("utf-8")
    except ValueError:  # a file name that is no UTF-8 is one too
        return False
    return True
