"""One file of a project, read whatever it is: an unreadable or broken one is a fact about it, never an exception."""

from __future__ import annotations

import ast
import gc
import os
import tokenize
import warnings
from collections.abc import Iterable
from io import BytesIO
from pathlib import Path

from msgspec.structs import replace

from voyageur.readiness.marks import hidden_in, silenced_in_python
from voyageur.readiness.model import Kind, Module, Sighting
from voyageur.readiness.notebook import Cells, cells_of
from voyageur.readiness.reader import module_of
from voyageur.readiness.shell import read_shell

_LARGEST = 1024**2  # programs that people write are shorter; a longer file was made by a program
_LARGEST_NOTEBOOK = 16 * 1024**2  # pictures in the answers make them long
_SHELLS = (".sh", ".bash", ".sbatch", ".slurm", ".job", ".batch", ".ksh", ".zsh")


def language_of(file: str, content: bytes = b"") -> str:
    if file.endswith((".py", ".pyw")):
        return "python"
    if file.endswith(".ipynb"):
        return "notebook"
    if file.endswith(_SHELLS):
        return "shell"
    first = content[:80].removeprefix(b"\xef\xbb\xbf").split(b"\n")[0]
    if first.startswith(b"#!"):
        return "python" if b"python" in first else "shell" if b"sh" in first else ""
    return ""


def read_files(root: Path, files: Iterable[str]) -> list[Module]:
    """Looking for garbage among a million new nodes finds none, and takes half of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return [read_file(root, file) for file in files]
    finally:
        if enabled:
            gc.enable()


def read_file(root: Path, file: str) -> Module:
    language = language_of(file)
    try:
        content = _content(root / file, _LARGEST_NOTEBOOK if language == "notebook" else _LARGEST)
    except OSError as problem:
        return Module(file=file, language=language, skipped=f"it cannot be read: {problem.strerror or problem}")
    if content is None:
        return Module(file=file, language=language, skipped="it is larger than programs that people write")
    language = language or language_of(file, content)
    if language == "python":
        return _python(file, content)
    if language == "notebook":
        return _notebook(file, content)
    return read_shell(file, content.decode("utf-8", "replace")) if language else Module(file=file, language="")


def _content(path: Path, largest: int) -> bytes | None:
    """Not opened when it is a pipe or a device: reading those may never end."""
    if not path.is_file():
        raise OSError(0, "it is no file")
    if os.path.getsize(path) > largest:
        return None
    return path.read_bytes()


# ── Python ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _python(file: str, content: bytes) -> Module:
    silenced = silenced_in_python(_text(content)) if b"voy: ignore[" in content else {}
    module = _parsed(file, content, "python", silenced)
    return replace(module, sightings=(*module.sightings, *_odd(content)))


def _parsed(file: str, content: bytes | str, language: str, silenced: dict[int, tuple[str, ...]]) -> Module:
    try:
        return module_of(file, ast.parse(content), language, silenced)
    except SyntaxError as problem:
        return Module(
            file=file, language=language, problem=_problem(problem), problem_line=problem.lineno or 1, silenced=silenced
        )
    except ValueError as problem:  # NUL bytes, and encodings that Python does not know
        return Module(file=file, language=language, problem=str(problem), problem_line=1, silenced=silenced)
    except (RecursionError, MemoryError):
        return Module(file=file, language=language, skipped="its expressions are nested too deep to be followed")


def _problem(problem: SyntaxError) -> str:
    """Notebooks that were saved as programs keep lines that only notebooks know."""
    line = (problem.text or "").strip()
    if line.startswith(("%", "!")):
        return f"`{line[:60]}` is a notebook's command, and no Python"
    return problem.msg


def _text(content: bytes) -> str:
    try:
        encoding, _ = tokenize.detect_encoding(BytesIO(content).readline)
        return content.decode(encoding, "replace")
    except (SyntaxError, LookupError):
        return content.decode("utf-8", "replace")


def _odd(content: bytes) -> list[Sighting]:
    """Python itself does not mind, but the kernel reads the first line, too."""
    first, _, _ = content.partition(b"\n")
    found = []
    if first.startswith(b"#!") and first.endswith(b"\r"):
        found.append(Sighting(kind=Kind.DOS, line=1))
    if first.startswith(b"\xef\xbb\xbf#!"):
        found.append(Sighting(kind=Kind.HIDDEN, line=1, name=hidden_in("\ufeff#!", first=True)))
    return found


# ── notebooks ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _notebook(file: str, content: bytes) -> Module:
    try:
        cells = cells_of(content.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as problem:
        return Module(file=file, language="notebook", skipped=f"it is no notebook: {str(problem)[:60]}")
    silenced = silenced_in_python(cells.program)
    return _in_the_file(_parsed(file, cells.program, "notebook", silenced), cells)


def _in_the_file(module: Module, cells: Cells) -> Module:
    def line(number: int) -> int:
        return cells.lines[number - 1] if 0 < number <= len(cells.lines) else 1

    return replace(
        module,
        sightings=tuple(replace(sighting, line=line(sighting.line)) for sighting in module.sightings),
        imports=tuple(replace(each, line=line(each.line)) for each in module.imports),
        options=tuple(replace(each, line=line(each.line)) for each in module.options),
        silenced={line(number): rules for number, rules in module.silenced.items()},
        problem_line=line(module.problem_line) if module.problem_line else None,
    )
