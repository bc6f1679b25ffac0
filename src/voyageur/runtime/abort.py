"""Which rank called MPI_Abort? Every MPI says it, and its lines carry the rank; nobody else lives to tell."""

import os
import re
import signal
from typing import Any, Dict, List, Mapping, Sequence

PROBLEM = "it called MPI_Abort"
_READ = 1 << 20  # bytes at the log's end
_LAST = 12
# MPICH and all that come of it, then Open MPI, whose mpirun says it without a rank in front.
_SAID = (
    re.compile(rb"^ *(\d+): .*application called MPI_Abort", re.MULTILINE),
    re.compile(rb"MPI_ABORT was invoked on rank (\d+)"),
)
_RAISED = re.compile(rb"^ *(\d+): Traceback \(most recent call last\)", re.MULTILINE)


def is_said_in(line: bytes) -> bool:
    """By the rank itself, without a rank in front."""
    return b"application called MPI_Abort" in line


def size_of(log: str) -> int:
    try:
        return os.stat(log).st_size
    except OSError:
        return 0


def who_ended_all(
    known: Sequence[Mapping[str, Any]], log: str, begin: int, environment: Mapping[str, str]
) -> Dict[str, Any]:
    """The rank that did, if what is `known` of ranks that failed does not tell: those that saw it end may be all that
    lived long enough to be noted, and MPICH's abort by themselves then.
    """
    if any(event.get("first") for event in known):
        return {}
    found = find(log, begin, environment)
    earliest = min(known, key=lambda event: float(event.get("ended") or event["time"]), default=None)
    if found or (earliest and earliest.get("code") != -signal.SIGABRT):
        return found
    return find_exception(log, begin, environment)


def find(log: str, begin: int, environment: Mapping[str, str]) -> Dict[str, Any]:
    """The rank, its node and its last lines, of what was written since `begin`; nothing if none has said it."""
    text = _since(log, begin)
    found = next((match for match in (pattern.search(text) for pattern in _SAID) if match), None)
    return {**_of_rank(int(found.group(1)), text, environment), "problem": PROBLEM} if found else {}


def find_exception(log: str, begin: int, environment: Mapping[str, str]) -> Dict[str, Any]:
    """The same of a rank that mpi4py ended for an exception, where mpirun has lost the words about the abort."""
    text = _since(log, begin)
    found = _RAISED.search(text)
    if not found:
        return {}
    facts = _of_rank(int(found.group(1)), text, environment)
    return {**facts, "problem": facts["last"][-1] if facts["last"] else PROBLEM}


def _since(log: str, begin: int) -> bytes:
    try:
        with open(log, "rb") as file:
            file.seek(max(begin, size_of(log) - _READ))
            return file.read()
    except OSError:
        return b""


def _of_rank(rank: int, text: bytes, environment: Mapping[str, str]) -> Dict[str, Any]:
    nodes = environment.get("VOY_NODE_NAMES", "").split(",")
    place = rank // max(1, int(environment.get("VOY_RANKS", "1")))
    return {"rank": rank, "node": nodes[min(place, len(nodes) - 1)], "last": _lines_of(rank, text)}


def _lines_of(rank: int, text: bytes) -> List[str]:
    lines = re.findall(rb"^ *%d: (.*)$" % rank, text, re.MULTILINE)
    return [line.decode("utf-8", "replace")[:300] for line in lines[-_LAST:]]
