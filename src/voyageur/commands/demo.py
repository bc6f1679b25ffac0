"""`voy demo`: the whole story on this machine, in about a minute."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("demo")
@click.option(
    "--into",
    type=click.Path(path_type=Path),
    default=Path("voyageur-demo"),
    metavar="FOLDER",
    help="the new folder that everything goes into (default: voyageur-demo, here)",
)
def command(into: Path) -> None:
    """Train a small network on two nodes of this machine, and show each step. Needs no Slurm."""
    from voyageur.demo.folder import check_numpy, make_folder
    from voyageur.demo.story import tell

    check_numpy()
    tell(make_folder(into))
