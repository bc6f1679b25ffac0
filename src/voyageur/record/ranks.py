"""Whose line is it? In a log of many ranks each line begins with the number of the rank that wrote it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from pathlib import Path

import msgspec

from voyageur.errors import SpecError
from voyageur.record.run import Run
from voyageur.runtime import folder as files

_LABEL = re.compile(rb" *(\d+): ?")


class Lines:
    """Blocks of a log in, whole lines of some ranks out. A line that is not finished yet waits for its rest."""

    def __init__(self, ranks: Collection[int]) -> None:
        self.ranks = frozenset(ranks)
        self._rest = b""

    def of(self, block: bytes) -> bytes:
        *lines, self._rest = (self._rest + block).split(b"\n")
        return b"".join(line + b"\n" for line in lines if rank_of(line) in self.ranks)


def rank_of(line: bytes) -> int | None:
    found = _LABEL.match(line)
    return int(found[1]) if found else None


def last_of(log: Path, rank: int, count: int, within: int = 1 << 20) -> list[str]:
    """The last lines of one rank, without its number, as far as they stand near the log's end."""
    try:
        with open(log, "rb") as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - within))
            found = Lines([rank]).of(file.read() + b"\n")
    except OSError:
        return []
    return [_LABEL.sub(b"", line, count=1).decode("utf-8", "replace") for line in found.splitlines()[-count:]]


def ranks_on(run: Run, node: str) -> range:
    """The numbers before the lines of one node. Raises SpecError for a node that the run has not used."""
    names = _nodes(run)
    if node not in names:
        raise SpecError(
            f"{run.id} has not run on a node called `{node}`",
            facts=[f"its nodes: {', '.join(names)}" if names else "it has not started yet"],
            hint=f"`voy logs {run.id}` shows all of it",
        )
    each, place = _labels_each(run), names.index(node)
    return range(place * each, (place + 1) * each)


def _nodes(run: Run) -> list[str]:
    event = run.last("ranks meet")
    return [str(name) for name in event["nodes"]] if event else []


def _labels_each(run: Run) -> int:
    """How many different numbers a node's lines have: srun counts its tasks, a launcher's workers their ranks."""
    try:
        plan = msgspec.json.decode((run.folder / files.PLAN).read_bytes())
    except (OSError, msgspec.MsgspecError):
        return 1
    key = "tasks_per_node" if "--label" in plan["launch_words"] else "ranks"
    return int(plan["resources"][key]["value"])


def ranks_asked(run: Run, rank: int | None, node: str | None) -> Iterator[int]:
    """Both together: the rank, if it is on that node."""
    found = ranks_on(run, node) if node else None
    if rank is None:
        yield from found or ()
    elif found is None or rank in found:
        yield rank
