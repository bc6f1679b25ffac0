"""`voy plan`: every decision with its reason, and the script; touches nothing."""

from __future__ import annotations

from typing import Any

import click

from voyageur.commands.options import Wish, shape_option, wish_options
from voyageur.show.output import emit, emit_json


@click.command("plan")
@wish_options
@click.option("--json", "as_json", is_flag=True, help="the whole plan as one JSON document")
@click.option("--files", is_flag=True, help="only which files would travel, and which not and why")
@click.option("--script", "only_script", is_flag=True, help="only the script")
@click.option("--shapes", is_flag=True, help="the same job in other shapes: when each would start, what it would cost")
@shape_option
def command(as_json: bool, files: bool, only_script: bool, shapes: bool, shape: str | None, **typed: Any) -> None:
    """Show every decision with its reason, and the script. Touches nothing."""
    if shapes:
        _show_shapes(Wish(**typed), as_json)
        return
    from msgspec.structs import replace

    from voyageur.commands.planning import unset_secrets
    from voyageur.commands.shaping import planned_as
    from voyageur.plan import document
    from voyageur.show.findings import records
    from voyageur.show.plan import files_text, plan_text
    from voyageur.show.style import columns, has_colours

    planned = planned_as(Wish(**typed), shape)
    unset = tuple(f"the secret {name} is not set in this shell" for name in unset_secrets(planned.spec))
    plan = replace(planned.plan, notes=planned.plan.notes + unset)
    if as_json:
        selection = planned.package.selection
        emit_json(
            {
                **document(plan),
                "findings": records(planned.findings),
                "ignored": list(planned.ignored),
                "script": planned.script,
                "files": list(selection.files),
                "left_out": {item.name: item.because for item in selection.left_out},
            }
        )
    elif files:
        emit(files_text(planned.package, has_colours()))
    elif only_script:
        emit(planned.script.rstrip("\n"))
    else:
        emit(plan_text(plan, planned.script, has_colours(), columns(), planned.findings, planned.ignored))


def _show_shapes(wish: Wish, as_json: bool) -> None:
    from datetime import datetime

    from voyageur.commands.shaping import shapes_of, starts_of
    from voyageur.show.shapes import ShapeRow, notes_on, shape_document, shapes_text
    from voyageur.show.style import has_colours

    site, found = shapes_of(wish)
    starts = starts_of(site, found)
    rows = [
        ShapeRow(
            alternative=shaped.alternative,
            plan=shaped.planned.plan if shaped.planned else None,
            start=starts.get(shaped.alternative.name),
            cost=shaped.cost,
            obstacle=shaped.obstacle.what if shaped.obstacle else "",
        )
        for shaped in found
    ]
    now = datetime.now()
    if as_json:
        shown = [shape_document(row, now) for row in rows]
        emit_json({"site": site.name, "shapes": shown, "notes": notes_on(rows)})
    else:
        emit(shapes_text(rows, now, has_colours()))
