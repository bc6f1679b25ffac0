"""`voy init`: look at the project, write a commented voyageur.toml."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from voyageur.errors import SpecError
from voyageur.show.output import emit

if TYPE_CHECKING:
    from voyageur.project import Found


@click.command("init")
@click.option("--print", "only_print", is_flag=True, help="print the file, with every key there is; write nothing")
@click.option("--force", is_flag=True, help="write over a voyageur.toml that is there")
def command(only_print: bool, force: bool) -> None:
    """Look at the project in this folder and write what was found into a commented voyageur.toml."""
    from voyageur.project import Found, document

    folder = _folder_typed_in()
    is_project = str(folder) not in (os.path.expanduser("~"), "/")
    if only_print:
        emit(document(_found(folder) if is_project else Found()).rstrip("\n"))
        return
    if not is_project:
        raise SpecError(f"{folder} is no project", hint="change to the folder of your program")
    if not force:
        _refuse_to_overwrite(folder)
    found = _found(folder)
    _write(folder, document(found))
    emit(_report(found))


def _folder_typed_in() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise SpecError(
            "the folder you are in does not exist any more", hint="change to your project's folder"
        ) from None


def _found(folder: Path) -> Found:
    import shutil

    from voyageur.project import look
    from voyageur.site import local_site

    has_slurm = shutil.which("sbatch") is not None
    has_gpus = has_slurm or bool(local_site().partitions[0].gpus)
    return look(folder, os.environ, has_gpus=has_gpus, has_slurm=has_slurm)


def _refuse_to_overwrite(folder: Path) -> None:
    from voyageur.spec import PROJECT_FILE, toml

    hint = "`voy init --print` shows what would be written, `voy init --force` writes it"
    if (folder / PROJECT_FILE).exists():
        raise SpecError(f"there is a {PROJECT_FILE} already", facts=[str(folder / PROJECT_FILE)], hint=hint)
    pyproject = folder / "pyproject.toml"
    if pyproject.is_file() and "voyageur" in toml.read(pyproject).get("tool", {}):
        facts = [str(pyproject), f"a {PROJECT_FILE} beside it would hide it"]
        raise SpecError("pyproject.toml has a [tool.voyageur] already", facts=facts, hint=hint)


def _write(folder: Path, text: str) -> None:
    from voyageur.runtime.folder import write_atomically
    from voyageur.spec import PROJECT_FILE

    try:
        write_atomically(str(folder / PROJECT_FILE), text.encode("utf-8"), mode=0o666)
    except OSError as problem:
        raise SpecError(
            f"{PROJECT_FILE} cannot be written: {problem.strerror}",
            facts=[str(folder)],
            hint="`voy init --print` shows it; save it where you may write",
        ) from None


def _report(found: Found) -> str:
    what = f"found {', '.join(found.summary)}" if found.summary else "nothing was found to take over"
    command = found.get("command")
    words = "" if command and command.sure else " -- python YOUR_PROGRAM.py"
    site = found.get("site")
    needs_cluster = site is not None and site.sure
    here = f"; `voy run{words}` tries it on this machine" if needs_cluster else ""
    return f"voyageur.toml written: {what}\nnext: look through it, then `voy plan{words}`{here}"
