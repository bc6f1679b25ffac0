"""The demo's own folder: the project, its results and its runs in one place that can be looked at and deleted."""

from __future__ import annotations

import json
import sys
from importlib import resources
from importlib.util import find_spec
from pathlib import Path

from voyageur.errors import SpecError
from voyageur.spec import PROJECT_FILE


def check_numpy() -> None:
    if find_spec("numpy") is None:
        raise SpecError(
            "the demo's program needs numpy, and this Python has none",
            facts=[sys.executable],
            hint="`pip install 'voyageur[demo]'`",
        )


def make_folder(folder: Path) -> Path:
    """A new folder with a copy of the demo's project; one that is there already is never touched."""
    folder = _whole(folder)
    if folder.is_symlink() or folder.exists():
        raise SpecError(
            f"{folder} is already there",
            facts=["the demo writes only into a folder of its own"],
            hint=f"choose another: `voy demo --into {folder.name}-2`, or remove that one",
        )
    try:
        folder.mkdir(parents=True)
        for name in ("train.py", PROJECT_FILE):
            (folder / name).write_bytes((resources.files("voyageur.demo") / "project" / name).read_bytes())
        _settle(folder)
    except OSError as problem:
        raise SpecError(
            f"the demo's folder cannot be made: {problem.strerror}",
            facts=[str(folder)],
            hint="choose a place where you may write: `voy demo --into ~/voyageur-demo`",
        ) from None
    return folder


def _whole(folder: Path) -> Path:
    try:
        return folder.absolute()
    except FileNotFoundError:
        raise SpecError(
            "the folder you are in does not exist any more",
            hint="change to one that does: `cd`, then `voy demo`",
        ) from None


def _settle(folder: Path) -> None:
    """Write into the project file what is only true here: where scratch is, and which Python has numpy."""
    file = folder / PROJECT_FILE
    text = file.read_text(encoding="utf-8").replace('"SCRATCH"', _quoted(folder / "scratch"))
    environment = virtual_environment()
    if environment:
        text = text.replace('"VENV"', _quoted(environment))
    else:
        text = text.replace("python train.py", f"{_word(sys.executable)} train.py").replace("venv = ", "# venv = ")
    file.write_text(text, encoding="utf-8")


def virtual_environment() -> Path | None:
    """The one this Python belongs to, if a job can activate it."""
    inside = sys.prefix != sys.base_prefix and (Path(sys.prefix) / "bin" / "activate").is_file()
    return Path(sys.prefix) if inside else None


def _quoted(path: Path) -> str:
    return json.dumps(str(path), ensure_ascii=False)


def _word(program: str) -> str:
    """A word of the command, inside the file's double quotes."""
    return json.dumps(f"'{program}'" if " " in program else program, ensure_ascii=False)[1:-1]
