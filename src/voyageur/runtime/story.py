"""What the event log tells an attempt about those before it: where each began, how it ended, how far it came."""

from typing import Any, Dict, List, NamedTuple, Optional

from voyageur.runtime.folder import BAD_NODE, Json
from voyageur.runtime.resume import Mark

MOST_IN_VAIN = 6  # Slurm itself does not bound how often a job is requeued
# Three whole pieces, six interruptions.
_WEIGHT = {"stopped": 2, "timeout": 2, "interrupted": 1, BAD_NODE: 1, "": 1, "failed": 0}


class Past(NamedTuple):
    """One attempt. `end` is empty for one that nobody could write the end of. `piece`: its number in its array."""

    number: int
    job: str
    array: str
    piece: int
    end: str
    mark: Optional[Mark]
    progress: Json
    nodes: str = ""


def attempts(events: List[Json]) -> List[Past]:
    """Since somebody asked for the run to be resumed; else from the beginning."""
    found: Dict[int, Past] = {}
    for event in events:
        name, number = event["event"], int(event.get("attempt") or 0)
        if name == "resumed":
            found = {}
        elif name == "attempt started":
            array, piece = str(event.get("array") or ""), int(event.get("piece") or 0)
            job, nodes = str(event.get("job")), str(event.get("nodes") or "")
            found[number] = Past(number, job, array, piece, "", None, {}, nodes)
        elif number in found:
            found[number] = found[number]._replace(**_learned(event))
    return [found[number] for number in sorted(found)]


def _learned(event: Json) -> Dict[str, Any]:
    if event["event"] == "resumed from" and event.get("name"):
        return {"mark": Mark(str(event["name"]), float(event["written"]))}
    if event["event"] == "attempt ended":
        return {"end": str(event.get("end")), "progress": event.get("progress") or {}}
    if event["event"] == "attempt superseded" and event.get("progress"):
        return {"progress": event["progress"]}
    return {}


def in_vain(before: List[Past], mark: Optional[Mark], is_judged: bool) -> int:
    """How much was tried since anything came of it, up to the attempt that begins now at `mark`.

    Where no checkpoint was ever seen and no progress is read, a whole piece may well have been of use.
    """
    weight, furthest = 0, None
    for past in reversed(before):
        if past.mark != mark or (not is_judged and past.end not in ("interrupted", "", "failed", BAD_NODE)):
            break
        done = past.progress.get("done")
        if done is not None and furthest is not None and done < furthest:
            break
        furthest = done if done is not None else furthest
        weight += _WEIGHT.get(past.end, 0)
    return weight


def pieces_left(past: List[Past], array: str, last: int, mine: int) -> List[int]:
    """Of an array's pieces, those that are still to come: not begun yet, or put back into the queue."""
    of_array = {one.piece: one.end for one in past if one.array == array}
    return [number for number in range(1, last + 1) if number != mine and of_array.get(number) in (None, "interrupted")]


def pieces_spent(past: List[Past]) -> int:
    """Pieces that are over; one that was interrupted comes back and is not."""
    return sum(one.end not in ("interrupted",) for one in past)
