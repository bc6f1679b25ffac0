"""The attempts of a run, told by its event log: when each ran, where it began, how far it came, how it ended."""

from __future__ import annotations

import itertools
import json
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from voyageur.record.run import Json, Run
from voyageur.runtime import folder as files
from voyageur.runtime import sizing
from voyageur.units import Duration


class Tried(Struct, frozen=True, kw_only=True):
    """`ended` is the last sign of life of an attempt that nobody could write the end of; `end` is empty then."""

    number: int
    started: float
    ended: float | None = None
    end: str = ""
    node: str = ""
    begins_from: str = ""
    passed_over: tuple[str, ...] = ()
    progress: Json = {}


class Forecast(Struct, frozen=True, kw_only=True):
    """From progress lines: how much is left, and how many attempts that makes in all. `lost` is not known where only
    checkpoints tell how far it is: what was done behind the last one, nobody has seen. `lost_more`: perhaps more than
    that, for an attempt has ended that nobody could see the end of."""

    done: float
    total: float | None
    per_unit: float | None
    lost: float | None
    lost_more: bool = False
    attempts: int | None = None
    ends: float | None = None


def attempts_of(run: Run) -> list[Tried]:
    found: dict[int, Tried] = {}
    for event in run.events:
        number = int(event.get("attempt") or 0)
        if event["event"] == "attempt started":
            found[number] = Tried(number=number, started=float(event["time"]), node=str(event.get("node", "")))
        elif number in found:
            found[number] = replace(found[number], **_learned(event))
    newest = found.get(run.attempt)
    if newest and not newest.end and (run.progress or run.beat):
        found[run.attempt] = replace(newest, progress=run.progress or newest.progress)
    return [found[number] for number in sorted(found)]


def _learned(event: Json) -> dict[str, Any]:
    if event["event"] == "resumed from":
        passed = tuple(str(one.get("name")) for one in event.get("passed_over", ()))
        return {"begins_from": str(event.get("name", "")), "passed_over": passed}
    if event["event"] == "attempt ended":
        ended = {"ended": float(event["time"]), "end": str(event.get("end", ""))}
        return {**ended, "progress": event["progress"]} if event.get("progress") else ended
    if event["event"] == "attempt superseded":
        return {"progress": event["progress"]} if event.get("progress") else {}
    return {}


def last_beats(run: Run) -> dict[int, float]:
    events = (event for event in run.events if event["event"] == "attempt superseded")
    return {int(event["attempt"]): float(event["last_beat"]) for event in events if event.get("last_beat")}


def forecast(run: Run, now: float) -> Forecast | None:
    """None where the log tells nothing. What is left counts waiting as it was between attempts so far, and the start
    and the warning of each piece, in which nothing is done."""
    tried = attempts_of(run)
    told = [one for one in tried if one.progress.get("done") is not None]
    if not told:
        return None
    last = told[-1].progress
    done, total = float(last["done"]), last.get("total")
    per_unit = _per_unit(told)
    lost = None if any(one.progress.get("by") == "checkpoints" for one in told) else _lost(told)
    unseen = any(not one.end for one in tried[:-1])
    found = Forecast(done=done, total=total, per_unit=per_unit, lost=lost, lost_more=unseen)
    if not per_unit or total is None:
        return found
    left = max(0.0, (float(total) - done) * per_unit)
    limit, warn, start = *_limits(run), float(last.get("begun") or 0.0)
    running = tried[-1] if not tried[-1].end else None
    in_this = max(0.0, limit - warn - (now - running.started)) if running else 0.0
    more = sizing.pieces_for(left - in_this, limit, warn, start) if left > in_this else 0
    wait = _usual_wait(tried, last_beats(run))
    return replace(found, attempts=len(tried) + more, ends=now + left + more * (wait + start))


def _limits(run: Run) -> tuple[float, float]:
    """Of one piece: its time, and how long before its end it is told."""
    resumed = run.last("resumed") or {}
    return float(resumed.get("time_limit") or run.record.time_limit), float(resumed.get("warn") or _warning(run))


def _warning(run: Run) -> float:
    try:
        plan = json.loads((run.folder / files.PLAN).read_text())
        return float(Duration.parse(plan["warn"]["value"]).seconds)
    except (OSError, ValueError, KeyError, TypeError):  # its folder is of another version
        return 0.0


def _per_unit(told: list[Tried]) -> float | None:
    """Of the newest attempt that has seen two of them."""
    known = [one.progress["per_unit"] for one in told if one.progress.get("per_unit")]
    return float(known[-1]) if known else None


def _lost(told: list[Tried]) -> float:
    """What was computed twice: an attempt that begins with a unit that the one before it had done already."""
    lost = 0.0
    for before, after in itertools.pairwise(told):
        step = float(after.progress.get("step") or before.progress.get("step") or 1)
        lost += max(0.0, float(before.progress["done"]) + step - float(after.progress["first"]))
    return lost


def _usual_wait(tried: list[Tried], beats: dict[int, float]) -> float:
    waits = []
    for before, after in itertools.pairwise(tried):
        end = before.ended or beats.get(before.number)
        if end:
            waits.append(max(0.0, after.started - end))
    return sum(waits) / len(waits) if waits else 0.0
