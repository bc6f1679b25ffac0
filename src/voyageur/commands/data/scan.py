"""`voy data scan`: how many files a folder has, where most of them are, and what a pack would save."""

from __future__ import annotations

import os

import click

from voyageur.commands import completing
from voyageur.errors import SpecError
from voyageur.show.output import aside, emit, emit_json


@click.command("scan")
@click.argument("folder", metavar="FOLDER", shell_complete=completing.folders)
@click.option("--json", "as_json", is_flag=True, help="one JSON document")
def command(folder: str, as_json: bool) -> int:
    """Count the files of a folder and all below it, and name the folders that have most of them."""
    from voyageur.data.scanning import scan
    from voyageur.show.data import pack_command, problem_lines, scan_document, scan_text
    from voyageur.show.progress import Progress

    if not os.path.isdir(folder):
        raise SpecError(f"there is no folder {folder}", hint="its path counts from the folder you are in")
    with Progress("counted", "files") as progress:
        found = scan(folder, progress.add)
    disk = os.statvfs(folder)
    free = {"files": disk.f_files, "files_free": disk.f_favail, "size_free": disk.f_bavail * disk.f_frsize}
    command = pack_command(found)
    if as_json:
        emit_json(scan_document(found, free, command))
    else:
        emit(scan_text(found, free, command))
    for line in problem_lines(found.unreadable):
        aside(f"not counted: {line}")
    return 1 if found.unreadable else 0
