"""`voy plan`: every decision with its reason, and the script; touches nothing."""

from __future__ import annotations

from typing import Any

import click

from voyageur.commands.options import Wish, wish_options
from voyageur.show.output import emit, emit_json


@click.command("plan")
@wish_options
@click.option("--json", "as_json", is_flag=True, help="the whole plan as one JSON document")
@click.option("--files", is_flag=True, help="only which files would travel, and which not and why")
@click.option("--script", "only_script", is_flag=True, help="only the script")
def command(as_json: bool, files: bool, only_script: bool, **typed: Any) -> None:
    """Show every decision with its reason, and the script. Touches nothing."""
    from msgspec.structs import replace

    from voyageur.commands.planning import plan_from, unset_secrets
    from voyageur.plan import document
    from voyageur.show.findings import records
    from voyageur.show.plan import files_text, plan_text
    from voyageur.show.style import columns, has_colours

    planned = plan_from(Wish(**typed))
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
