"""A look at the project: each question asked once, the answers laid together."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path

from voyageur.project.batch import Batch, find_batches, findings_of, not_taken
from voyageur.project.data import find_data
from voyageur.project.files import Tree
from voyageur.project.libraries import Libraries, find_libraries
from voyageur.project.model import Clue, Found, only_right
from voyageur.project.program import Program, find_program, remarks_on
from voyageur.project.recognise import recognise_program

# In this order: a lock says more than what it was made from.
_PACKAGE_FILES = (
    "uv.lock",
    "poetry.lock",
    "pylock.toml",
    "Pipfile.lock",
    "requirements.txt",
    "pyproject.toml",
    "Pipfile",
    "environment.yml",
    "environment.yaml",
)
_OTHER_FILES = ("setup.py", "conda.yml")
_IMAGES = (".sif", ".sqsh", ".sqfs", ".squashfs")


def look(root: Path, environment: Mapping[str, str], *, has_gpus: bool, has_slurm: bool) -> Found:
    """`has_gpus`: GPUs can be had from here, on this machine or through its Slurm."""
    tree = Tree(root)
    batches = find_batches(tree)
    program = find_program(tree, batches, environment)
    libraries = find_libraries(tree)
    found = only_right(
        [
            *([program.command] if program else []),
            *_slurm(batches, has_slurm),
            *(findings_of(batches[0]) if batches else []),
            *_from_libraries(libraries, has_gpus),
            *_launch(tree, program, libraries),
            *_environment(tree),
            *_from_data(root),
            *_image(root),
        ]
    )
    return Found(
        clues=tuple(found),
        remarks={
            "command": tuple(remarks_on(tree, program)) if program else (),
            "env": tuple(_packages(tree)),
            "sites": tuple(_left(batches)),
        },
        experiments={_stem(batch): tuple(_experiment(batch)) for batch in batches[1:] if batch.command},
        summary=tuple(_summary(program, batches, libraries, tree)),
    )


def _slurm(batches: list[Batch], has_slurm: bool) -> Iterator[Clue]:
    """So that what is true on the cluster alone has a table of its own, and `voy run` works without it."""
    if batches:
        because = f"{batches[0].name} is a Slurm script" + ("" if has_slurm else ", but this machine has no Slurm")
        yield Clue(key="site", value="slurm", because=because, sure=has_slurm)


def _from_libraries(libraries: Libraries, has_gpus: bool) -> Iterator[Clue]:
    if libraries.gpu:
        because = f"{libraries.gpu} uses GPUs" + ("" if has_gpus else "; take it in for a cluster, or use -g 1")
        yield Clue(key="resources.gpus", value=1, because=because, sure=has_gpus)


def _launch(tree: Tree, program: Program | None, libraries: Libraries) -> Iterator[Clue]:
    """As a comment: a run of several GPUs or nodes takes it by itself, and one of a single process needs none."""
    command = str(program.command.value) if program else ""
    try:
        words = shlex.split(command)
    except ValueError:
        words = []
    found = recognise_program(tree.root, tree.names, ".", words) if words else None
    if found:
        yield Clue(key="launch.with", value=found.style, because=found.because, sure=False)
    elif libraries.launch:
        style, because = libraries.launch
        yield Clue(key="launch.with", value=style, because=because, sure=False)


def _from_data(root: Path) -> Iterator[Clue]:
    heavy = list(find_data(root))
    if heavy:
        because = "; ".join(f"{item.name}: {item.because}" for item in heavy) + "; name them by their whole path"
        yield Clue(key="snapshot.exclude", value=[item.name for item in heavy], because=because)


def _image(root: Path) -> Iterator[Clue]:
    """As a comment: a project may have a virtual environment as well, and a run has one of them."""
    found = sorted(path.name for path in root.iterdir() if path.name.endswith(_IMAGES) and path.is_file())
    if len(found) == 1:
        yield Clue(key="env.image", value=found[0], because="the only container image in this folder", sure=False)


def _package_files(tree: Tree) -> list[str]:
    files = [name for name in _PACKAGE_FILES if name in tree.names]
    return [name for name in files if name != "pyproject.toml" or "[project]" in tree.text(name)]


def _environment(tree: Tree) -> Iterator[Clue]:
    """As a comment: who has a virtual environment that works is not asked to change."""
    if files := _package_files(tree):
        because = f"{files[0]} was found: taken in, it is made once as one file, and put on every node's own disk"
        yield Clue(key="env.requirements", value=[files[0]], because=because, sure=False)


def _packages(tree: Tree) -> Iterator[str]:
    has_venv = (tree.root / ".venv" / "bin" / "activate").is_file()
    files = [*_package_files(tree), *(name for name in _OTHER_FILES if name in tree.names)]
    if (tree.root / "voyageur.lock").is_file():
        yield "voyageur.lock was found: the job has the environment that it says; `voy env show` lists what is made."
    elif has_venv:
        yield "The job uses the .venv of this folder; it need not be named."
    elif files:
        yield f"{files[0]} was found. `voy env lock` and `voy env build` make an environment of it, once, as one file;"
        yield "else the job uses the virtual environment that is active when you submit."
    for name in files:
        if name.endswith((".yml", ".yaml")):
            yield f"{name} was found. Conda environments are not taken into a job: `voy env lock` takes what PyPI has"
            yield 'of it; `conda pack -o env.tar.gz` packs one as it is, and `requirements = ["env.tar.gz"]` takes it.'


def _left(batches: list[Batch]) -> Iterator[str]:
    if batches and (left := not_taken(batches[0])):
        yield f"not taken over from {batches[0].name}: {', '.join(left)}"


def _stem(batch: Batch) -> str:
    return Path(batch.name).stem


def _experiment(batch: Batch) -> Iterator[Clue]:
    line = batch.command
    assert line is not None
    yield Clue(key="command", value=line.text, because=line.obstacle or f"what {batch.name} starts")
    yield from (clue for clue in findings_of(batch) if clue.sure and clue.key.startswith("resources."))


def _summary(program: Program | None, batches: list[Batch], libraries: Libraries, tree: Tree) -> Iterator[str]:
    if program:
        yield f"`{program.command.value}`"
    if batches:
        others = f" and {len(batches) - 1} more" if len(batches) > 1 else ""
        yield f"the Slurm script {batches[0].name}{others}"
    if libraries.used:
        yield ", ".join(libraries.used) + (" with GPUs" if libraries.gpu else "")
    packages = ("voyageur.lock", ".venv/pyvenv.cfg", *_PACKAGE_FILES, *_OTHER_FILES)
    yield from [name.removesuffix("/pyvenv.cfg") for name in packages if (tree.root / name).is_file()][:1]
