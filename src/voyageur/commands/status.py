"""`voy status`: all runs in a table, or one in full."""

from __future__ import annotations

import click

from voyageur.commands.completing import run_argument
from voyageur.show.output import emit, emit_json


@click.command("status")
@run_argument("names", nargs=-1, metavar="[RUN]...")
@click.option("--timeline", is_flag=True, help="its attempts along a line of time")
@click.option("--all", "everything", is_flag=True, help="all runs, not only the latest")
@click.option("--json", "as_json", is_flag=True, help="one JSON document")
def command(names: tuple[str, ...], timeline: bool, everything: bool, as_json: bool) -> None:
    """Show what became of your runs; with a RUN, everything about it."""
    from voyageur.commands import session
    from voyageur.commands.listing import show_runs
    from voyageur.show.runs import run_document, run_text
    from voyageur.show.style import has_colours

    if not names:
        show_runs(everything, as_json)
        return
    from voyageur.show.timeline import timeline as line_of_time

    runs = session.runs()
    looked = [runs.look(runs.find(name)) for name in names]
    if as_json:
        documents = [run_document(run, verdict) for run, verdict in looked]
        emit_json(documents[0] if len(documents) == 1 else documents)
    else:
        texts = [
            "\n".join([run_text(run, verdict, has_colours()), *(["", line_of_time(run)] if timeline else [])])
            for run, verdict in looked
        ]
        emit("\n\n".join(texts))
