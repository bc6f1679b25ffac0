"""Data goes down the stairs, never up: no room imports from a higher one, nor from its neighbour."""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "voyageur"

STAIRS = [
    {"__init__"},
    {"errors", "findings", "units", "job"},
    {"runtime"},
    {"slurm_text", "allowance", "data", "env"},
    {"spec", "site"},
    {"launch", "containers"},
    {"plan"},
    {"rules"},
    {"script", "snapshot", "record"},
    {"project"},
    {"hosts", "readiness", "haul"},
    {"engines", "questions", "workshop"},
    {"runs"},
    {"show", "places"},
    {"demo"},
    {"commands"},
    {"cli"},
    {"__main__"},
]
STEP = {room: step for step, rooms in enumerate(STAIRS) for room in rooms}
FORBIDDEN = {"show": {"engines", "hosts"}}


def room_of(file: Path) -> str:
    first = file.relative_to(SOURCE).parts[0]
    return first.removesuffix(".py")


def imports(file: Path) -> Iterator[str]:
    """Whole names of what a file imports, also inside functions; a relative import stays in its own package."""
    package = ["voyageur", *file.relative_to(SOURCE).parent.parts]
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*start, *([node.module] if node.module else [])])
            if module == "voyageur":
                yield from (f"voyageur.{alias.name}" for alias in node.names)
            else:
                yield module


def rooms_imported(file: Path) -> set[str]:
    names = [name.split(".") for name in imports(file) if name.split(".")[0] == "voyageur"]
    rooms = {parts[1] if len(parts) > 1 else "__init__" for parts in names}
    return {"__init__" if room == "__version__" else room for room in rooms}


def files() -> list[Path]:
    travelling = SOURCE / "demo" / "project"
    return [file for file in sorted(SOURCE.rglob("*.py")) if travelling not in file.parents]


@pytest.mark.parametrize("file", files(), ids=lambda file: str(file.relative_to(SOURCE)))
def test_a_room_looks_only_down(file: Path) -> None:
    own = room_of(file)
    assert own in STEP, f"{own} has no place on the stairs yet"
    for room in rooms_imported(file) - {own}:
        assert STEP[room] < STEP[own], f"{own} looks at {room}, which is not below it"
        assert room not in FORBIDDEN.get(own, set()), f"{own} decides nothing, so it has no business with {room}"


TRAVELLING = sorted(file for room in ("runtime", "job") for file in (SOURCE / room).rglob("*.py"))
# What a program that has these libraries can ask for; nothing else imports these files, except inside a function.
ADAPTERS = {
    "job/data/arrays.py": "numpy",
    "job/data/loaders.py": "torch",
    "job/data/tensors.py": "tensorflow",
    "job/keras.py": "keras",
    "job/lightning.py": "lightning",
    "job/torch.py": "torch",
    "job/transformers.py": "transformers",
}


@pytest.mark.parametrize("file", TRAVELLING, ids=lambda file: str(file.relative_to(SOURCE)))
def test_what_travels_into_a_job_needs_nothing_but_the_standard_library(file: Path) -> None:
    own = ADAPTERS.get(str(file.relative_to(SOURCE)))
    for name in imports(file):
        travels = name.startswith(("voyageur.runtime", "voyageur.job"))
        assert travels or name.split(".")[0] in {*sys.stdlib_module_names, own}, name


def test_no_adapter_is_loaded_unless_it_is_asked_for() -> None:
    for file in TRAVELLING:
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                asks = file.parent.name == "job" and str(file.relative_to(SOURCE)) in ADAPTERS
                assert asks or not re.search(r"\b(arrays|loaders|job\.(torch|keras))\b", ast.unparse(node)), file


@pytest.mark.parametrize("file", TRAVELLING, ids=lambda file: str(file.relative_to(SOURCE)))
def test_what_travels_into_a_job_is_python_3_8(file: Path) -> None:
    ast.parse(file.read_text(encoding="utf-8"), feature_version=(3, 8))
