"""How a project's program wants to be started: what it and the modules that it imports from the project say."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from voyageur.launch.signs import Recognised, Sign, modules_of, recognise, signs_in
from voyageur.launch.words import own_words, program_of

_MOST_FILES = 60  # a program's way to start stands near its beginning
_LONGEST_TEXT = 512 * 1024


def recognise_program(root: Path, files: Collection[str], start_in: str, command: Sequence[str]) -> Recognised | None:
    """`files` are those of the project, named from its root; the command is typed in `start_in`."""
    names = set(files)
    first = _program_file(names, start_in, command)
    return recognise(_signs(root, names, first)) if first else None


def _program_file(names: set[str], start_in: str, command: Sequence[str]) -> str | None:
    behind = list(command[len(own_words(command)) :])
    program = program_of(behind) or program_of(["python", *behind])
    places = [program, f"{program.replace('.', '/')}.py", f"{program.replace('.', '/')}/__main__.py"] if program else []
    found = (os.path.normpath(os.path.join(start_in, place)) for place in places)
    return next((name for name in found if name in names and name.endswith(".py")), None)


def _signs(root: Path, names: set[str], first: str) -> Iterator[Sign]:
    """The program, then what it imports, each file once."""
    waiting, seen = [first], {first}
    while waiting and len(seen) < _MOST_FILES:
        name = waiting.pop(0)
        text = _text(root / name)
        yield from signs_in(name, text)
        for module in modules_of(text):
            for found in _files_of(module, os.path.dirname(name), os.path.dirname(first), names):
                if found not in seen:
                    seen.add(found)
                    waiting.append(found)


def _files_of(module: str, folder: str, start: str, names: set[str]) -> Iterator[str]:
    """In the program's own folder, in the project's top and in `src`; a relative import beside its file."""
    dots = len(module) - len(module.lstrip("."))
    path = module.lstrip(".").replace(".", "/")
    bases = [os.path.join(folder, *[".."] * (dots - 1))] if dots else [start, "", "src"]
    for base in bases:
        for name in (f"{path}.py", f"{path}/__init__.py"):
            found = os.path.normpath(os.path.join(base, name))
            if found in names:
                yield found


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > _LONGEST_TEXT:
            return ""
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
