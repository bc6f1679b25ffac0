"""Shapes of a job, when each would start and what it costs: as people read them and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from msgspec import Struct

from voyageur.errors import one_line
from voyageur.plan import Cost, Plan
from voyageur.plan.shapes import Alternative
from voyageur.show.allowance import cost_text
from voyageur.show.style import paint, table
from voyageur.slurm_text.starts import Start
from voyageur.units import Duration

GUESS = (
    "a start is the scheduler's guess of now: it comes sooner when jobs end before their limit, later when others "
    "with more right are submitted"
)
_NOW = 60  # seconds


class ShapeRow(Struct, frozen=True, kw_only=True):
    """`obstacle`: why this shape cannot be had."""

    alternative: Alternative
    plan: Plan | None
    start: Start | None
    cost: Cost | None
    obstacle: str = ""


def shapes_text(rows: list[ShapeRow], now: datetime, colours: bool) -> str:
    cells = [(row.alternative.name, start_text(row, now), _cost(row), one_line(row.alternative.what)) for row in rows]
    means = [f"{row.alternative.name}: {one_line(_means(row))}" for row in rows if _means(row)]
    notes = [paint(f"note: {one_line(note)}", "yellow", colours) for note in notes_on(rows)]
    shapes = table(("SHAPE", "STARTS", "COST", "WHAT IT IS"), cells, colours)
    return "\n".join([shapes, *([""] if means or notes else []), *means, *notes])


def notes_on(rows: list[ShapeRow]) -> list[str]:
    """What holds for all of them."""
    starts = [row.start for row in rows if row.start]
    silences = dict.fromkeys(
        f"when they would start is not known: {start.silence}" for start in starts if start.silence
    )
    return [*silences, *([GUESS] if any(start.at for start in starts) else [])]


def start_text(row: ShapeRow, now: datetime) -> str:
    start = row.start
    if start is None:
        return "never"
    if start.at is None:
        return "refused" if start.refusal else "not known"
    wait = (start.at - now).total_seconds()
    if wait < _NOW:
        return "now"
    rounded = Duration(-(-int(wait) // 60) * 60)
    return f"in {rounded} ({start.at:%a %H:%M})" if wait < 6 * 86_400 else f"in {rounded} ({start.at:%Y-%m-%d})"


def _cost(row: ShapeRow) -> str:
    """The last piece of a chain ends early."""
    if row.cost is None:
        return "-"
    bound = row.alternative.pieces > 1 and row.cost.amount is not None and not row.cost.at_least
    return f"at most {cost_text(row.cost)}" if bound else cost_text(row.cost)


def _means(row: ShapeRow) -> str:
    start = row.start or Start()
    told = [row.obstacle, f"Slurm says: {start.refusal}" if start.refusal else ""]
    return "; ".join(text for text in [row.alternative.means, *told] if text)


def shape_document(row: ShapeRow, now: datetime) -> Mapping[str, Any]:
    start, plan = row.start or Start(), row.plan
    return {
        "name": row.alternative.name,
        "what": row.alternative.what,
        "means": row.alternative.means,
        "pieces": row.alternative.pieces,
        "submittable": plan is not None and row.alternative.pieces == 1 and not start.refusal,
        "obstacle": row.obstacle or start.refusal or None,
        "start": start.at.isoformat() if start.at else None,
        "wait": max(0, round((start.at - now).total_seconds())) if start.at else None,
        "unknown": start.silence or None,
        "nodes": plan.shape.nodes.value if plan else None,
        "gpus": plan.shape.gpus.value if plan else None,
        "time": plan.shape.time.value.seconds if plan else None,
        "partition": start.partition or (plan.queue.partition.value if plan else None),
        "qos": plan.queue.qos.value if plan else None,
        "account": plan.account.value if plan else None,
        "cost": {"amount": row.cost.amount, "unit": row.cost.unit.value} if row.cost else None,
    }
