"""Which program a project is about: the file that people start, and what it wants on its command line."""

from __future__ import annotations

import ast
import os
import re
import shlex
import shutil
import tomllib
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import NamedTuple

from voyageur.project.batch import Batch
from voyageur.project.command_text import command_in, lines_of
from voyageur.project.files import Tree
from voyageur.project.model import Clue

_USUAL = ("train.py", "main.py", "run.py", "experiment.py")
_USUAL_SCRIPTS = ("train.sh", "run.sh", "main.sh")
_COMMAND_FILES = ("experiment_configurations.txt", "experiment_configuration.txt")
_RESULT_FOLDER = re.compile(r"--(out|output|outdir|logdir|checkpoints|(out|output|save|checkpoint|ckpt)[-_]dir)")


class Program(NamedTuple):
    """The command, and the Python file behind it when there is one in the project. What is guessed has no arguments."""

    command: Clue
    file: str = ""
    guessed: bool = False


def find_program(tree: Tree, batches: list[Batch], environment: Mapping[str, str]) -> Program | None:
    """The first of these that finds something: what was written down before beats what only looks like it."""
    python = _python(tree, environment)
    for command in (*_from_command_file(tree), *_from_batches(batches)):
        return Program(command, _file_of(tree, str(command.value)))
    places = (
        _from_usual_names(tree, python),
        _from_package(tree, python),
        _from_startable(tree, python),
        _from_scripts(tree, batches),
        _from_pyproject(tree),
    )
    for place in places:
        for command in place:
            return Program(command, _file_of(tree, str(command.value)), guessed=True)
    return None


def _python(tree: Tree, environment: Mapping[str, str]) -> str:
    own = (tree.root / ".venv" / "bin" / "python").exists() or environment.get("VIRTUAL_ENV")
    return "python" if own or shutil.which("python") else "python3"


def _from_command_file(tree: Tree) -> Iterator[Clue]:
    for name in tree.names:
        if os.path.basename(name) in _COMMAND_FILES:
            lines = [line.rstrip("\\ ") for line in lines_of(tree.text(name)) if line and not line.startswith("#")]
            line = command_in(lines[0]) if lines else None
            if line:
                obstacle = line.obstacle or ("it holds several commands, this is the first" if len(lines) > 1 else "")
                because = f"{name}: {obstacle}" if obstacle else f"{name}, which holds only the command"
                yield Clue(key="command", value=line.text, because=because, sure=not obstacle)


def _from_batches(batches: list[Batch]) -> Iterator[Clue]:
    for batch in batches:
        if line := batch.command:
            because = f"{batch.name}: {line.obstacle}" if line.obstacle else f"what {batch.name} starts"
            yield Clue(key="command", value=line.text, because=because, sure=not line.obstacle)


def _from_usual_names(tree: Tree, python: str) -> Iterator[Clue]:
    for wanted in _USUAL:
        for name in tree.names:
            if os.path.basename(name) == wanted and name.count("/") <= 2 and not _is_test(name):
                yield _starts(python, name, "by its name")


def _from_package(tree: Tree, python: str) -> Iterator[Clue]:
    for name in tree.ending("/__main__.py"):
        if name.count("/") == 1:
            package = os.path.dirname(name)
            yield Clue(key="command", value=f"{python} -m {package}", because=f"{package} has a __main__.py")


def _from_startable(tree: Tree, python: str) -> Iterator[Clue]:
    """Files that are meant to be started; the surest signs first."""
    programs = [(name, tree.text(name)) for name in tree.ending(".py")[:500] if not _is_test(name)]
    reasons = (
        ("it can be started and reads options", lambda text: _is_guarded(text) and "argparse" in text),
        ("it can be started", _is_guarded),
        ("it reads options", lambda text: "ArgumentParser(" in text),
        ("the only program here", lambda _: len(programs) == 1),
    )
    for because, fits in reasons:
        yield from (_starts(python, name, because) for name, text in programs if fits(text))


def _is_guarded(text: str) -> bool:
    return "__name__" in text and "__main__" in text


def _from_scripts(tree: Tree, batches: list[Batch]) -> Iterator[Clue]:
    others = {batch.name for batch in batches}
    for name in tree.ending(".sh"):
        if "/" not in name and name in _USUAL_SCRIPTS and name not in others:
            yield _starts("bash", name, "by its name")


def _from_pyproject(tree: Tree) -> Iterator[Clue]:
    for name in _tables(tree).get("scripts", {}):
        because = "pyproject.toml, [project.scripts]; it must be installed in the job's environment"
        yield Clue(key="command", value=name, because=because, sure=shutil.which(name) is not None)


def _tables(tree: Tree) -> dict[str, dict[str, str]]:
    try:
        project = tomllib.loads(tree.text("pyproject.toml")).get("project", {})
    except tomllib.TOMLDecodeError:
        return {}
    return project if isinstance(project, dict) else {}


def _starts(program: str, name: str, because: str) -> Clue:
    return Clue(key="command", value=f"{program} {shlex.quote(name)}", because=f"{name} was found: {because}")


def _is_test(name: str) -> bool:
    return any(part.startswith(("test_", "tests", "conftest", "setup.py")) for part in name.split("/"))


def _file_of(tree: Tree, command: str) -> str:
    """`python -m pkg.train` and `python src/train.py`: the file, if the project has it."""
    try:
        words = shlex.split(command)
    except ValueError:
        return ""
    modules = [after.replace(".", "/") for before, after in pairwise(words) if before == "-m"]
    wanted = [*words, *(f"{module}.py" for module in modules), *(f"{module}/__main__.py" for module in modules)]
    return next((os.path.normpath(word) for word in wanted if os.path.normpath(word) in tree.names), "")


# ── what it wants on its command line ────────────────────────────────────────────────────────────────────────────────


def remarks_on(tree: Tree, program: Program) -> Iterator[str]:
    if not program.file.endswith(".py"):
        return
    asked = list(_options(tree.text(program.file)))
    given = str(program.command.value)
    missing = [name for name, required in asked if required]
    if missing and program.guessed:
        yield f"{program.file} cannot do without {', '.join(missing)}: add what it needs"
    folders = [name for name, _ in asked if _RESULT_FOLDER.fullmatch(name) and name not in given]
    if folders:
        yield f"{program.file} knows {folders[0]}: with `{folders[0]} {{checkpoints}}` its results lie on scratch"


def _options(text: str) -> Iterator[tuple[str, bool]]:
    """The options that argparse or click are told of, and whether each must be given."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") in ("add_argument", "option"):
            names = [each.value for each in node.args if isinstance(each, ast.Constant) and isinstance(each.value, str)]
            flags = [name for name in names if name.startswith("--")]
            required = any(
                word.arg == "required" and isinstance(word.value, ast.Constant) and word.value.value is True
                for word in node.keywords
            )
            if flags:
                yield flags[0], required
            elif names and getattr(node.func, "attr", "") == "add_argument" and not names[0].startswith("-"):
                yield names[0], not any(word.arg in ("nargs", "default") for word in node.keywords)
