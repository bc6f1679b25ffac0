"""`voy pull`: a run's results to where you are, each file as the run saved it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from voyageur.commands import completing
from voyageur.commands.completing import run_argument
from voyageur.errors import RunError
from voyageur.show.output import aside, emit, emit_json

if TYPE_CHECKING:
    from voyageur.haul import Bundle, Carried, Item
    from voyageur.record import Run


@click.command("pull")
@run_argument("name", metavar="RUN")
@click.option("-o", "--output", metavar="DIR", help="where to; by default a folder of the run's name, here",
              shell_complete=completing.folders)  # fmt: skip
@click.option("--checkpoints", is_flag=True, help="the checkpoints of its experiment, too")
@click.option("--force", is_flag=True, help="write over other files of the same names")
@click.option("--json", "as_json", is_flag=True, help="what came, as one JSON document")
def command(name: str, output: str | None, checkpoints: bool, force: bool, as_json: bool) -> None:
    """Bring a run's results to where you are; every file is compared with the run's manifest."""
    from voyageur.commands import session
    from voyageur.haul import carry, checkpoints_of, find_bundles

    run = session.runs().find(name)
    bundles = find_bundles(run)
    items = _named(bundles)
    if checkpoints:
        items += [(item.name, item) for item in checkpoints_of(run).items]
    target = Path(output or run.id).absolute()
    missing = [text for bundle in bundles for text in bundle.missing]
    if not items and not missing:
        raise _nothing(run, checkpoints)
    try:
        carried = carry(items, target, force)
    except OSError as problem:
        hint = "make room, or choose another folder with `-o`; then the same command goes on where it was"
        raise RunError(f"{target} cannot be written: {problem.strerror}", hint=hint) from None
    _tell(run, target, carried, missing, as_json)
    sys.exit(1 if carried.damaged or missing else 0)


def _named(bundles: Sequence[Bundle]) -> list[tuple[str, Item]]:
    """Of several nodes each has a folder of its own."""
    nodes = {bundle.node for bundle in bundles if not bundle.node.startswith("written-")}
    prefix = len(nodes) > 1
    found: dict[str, Item] = {}
    for bundle in bundles:
        for item in bundle.items:
            own = f"{bundle.node}/{item.name}" if prefix and bundle.node in nodes else item.name
            found[own] = item
    return list(found.items())


def _nothing(run: Run, checkpoints: bool) -> RunError:
    hint = "name what should come back under [results] save"
    if not checkpoints:
        hint += f"; `voy pull {run.id} --checkpoints` brings its checkpoints"
    return RunError(f"{run.id} has no results", facts=[str(run.folder)], hint=hint)


def _tell(run: Run, target: Path, carried: Carried, missing: Sequence[str], as_json: bool) -> None:
    from voyageur.units import Size

    if as_json:
        facts = {"run": run.id, "folder": str(target), "new": carried.new, "there": carried.there}
        emit_json({**facts, "damaged": carried.damaged, "missing": missing, "bytes": carried.size})
        return
    already = f", {len(carried.there)} were there already" if carried.there else ""
    emit(f"{len(carried.new)} files, {Size(carried.size)}, in {target}{already}")
    for text in (*carried.damaged, *missing):
        aside(f"NOT brought: {text}")
