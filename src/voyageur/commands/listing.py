"""The list of runs, as `voy status` shows it."""

from __future__ import annotations

from voyageur.commands import session
from voyageur.show.output import emit, emit_json
from voyageur.show.runs import entries_document, runs_text
from voyageur.show.style import has_colours

_USUAL = 25


def show_runs(everything: bool = False, as_json: bool = False) -> None:
    entries = session.runs().all()
    if as_json:
        emit_json(entries_document(entries))
        return
    shown = [entry for place, entry in enumerate(entries) if everything or place < _USUAL or not entry.final]
    emit(runs_text(shown, len(entries) - len(shown), has_colours()))
