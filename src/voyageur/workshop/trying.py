"""Does it work? Asked from another place than it was made in, before it gets its name."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from voyageur.errors import RunError
from voyageur.workshop.shell import Shell

_PATIENCE = 300.0
# What a machine without the hardware lacks, and a node with it has.
_OF_DRIVERS = ("libcuda.so", "libnvidia", "libamdhip64", "libhsa-runtime", "libze_loader", "libmlx5", "libibverbs")
_MODULES = """
import importlib.metadata as metadata, json, re, sys
plain = lambda name: re.sub(r"[-_.]+", "-", name).lower()
found = {}
for one in metadata.distributions(path=[path for path in sys.path if path.startswith(sys.prefix)]):
    name = plain(one.metadata["Name"])
    tops = (one.read_text("top_level.txt") or "").split()
    if not tops:
        for file in one.files or ():
            parts = file.parts
            if len(parts) == 2 and parts[1] == "__init__.py":
                tops.append(parts[0])
            elif len(parts) == 1 and re.fullmatch(r"[A-Za-z]\\w*(\\.(?:cpython|abi3)[\\w-]*)?\\.(py|so)", parts[0]):
                tops.append(parts[0].split(".")[0])
    found[name] = sorted({top for top in tops if top.isidentifier() and not top.startswith("_")})
print("voyageur: " + json.dumps(found))
"""
_IMPORT = """
import importlib, sys
for name in sys.argv[1:]:
    print("voyageur: importing " + name, flush=True)
    importlib.import_module(name)
"""


class Tried(Struct, frozen=True, kw_only=True):
    """`imports`: all that can be imported. `notes`: what could not be tried here, and why that is no fault."""

    modules: tuple[str, ...]
    imports: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def try_out(shell: Shell, folder: Path, wanted: Sequence[str], packages: Sequence[str]) -> Tried:
    """All packages are there; what was asked for imports. Raises RunError with the name of the one that does not."""
    python = str(folder / "bin" / "python")
    shell = replace(shell, tmp=_nowhere(folder))
    answer = shell.run([python, "-s", "-c", _MODULES], patience=_PATIENCE)
    lines = [line for line in answer.output.splitlines() if line.startswith("voyageur: ")]
    if not answer.ok or not lines:
        facts = answer.all.splitlines()[-4:]
        raise RunError("the Python of the environment does not start", facts=facts, hint="`voy env build --again`")
    found: dict[str, list[str]] = json.loads(lines[-1].removeprefix("voyageur: "))
    if missing := sorted(set(packages) - set(found)):
        raise RunError(
            f"{missing[0]} was installed and is not there", facts=missing[1:4], hint="`voy env build --again`"
        )
    tried = _imported(shell, python, [(name, top) for name in wanted for top in found.get(name, ())])
    return replace(tried, imports=tuple(sorted({top for tops in found.values() for top in tops})))


def _nowhere(folder: Path) -> Path:
    """An empty folder to stand in: what lies in the working folder can be imported, too."""
    empty = folder.parent / "nowhere"
    empty.mkdir(exist_ok=True)
    return empty


def _imported(shell: Shell, python: str, pairs: Sequence[tuple[str, str]]) -> Tried:
    """All in one process; each by itself only when that one fails."""
    modules = tuple(dict.fromkeys(top for _, top in pairs))
    if not modules or shell.run([python, "-s", "-c", _IMPORT, *modules], patience=_PATIENCE).ok:
        return Tried(modules=modules)
    notes = []
    for name, module in pairs:
        answer = shell.run([python, "-s", "-c", _IMPORT, module], patience=_PATIENCE)
        if answer.ok:
            continue
        lines = [line.strip() for line in answer.errors.splitlines() if line.strip()]
        if any(library in line for library in _OF_DRIVERS for line in lines[-1:]):
            notes.append(f"{module} was not tried: {lines[-1]}; nodes with that hardware have it")
            continue
        facts = [f"import {module}", *_reason(answer.code, lines)]
        raise RunError(
            f"{name} does not import",
            facts=facts,
            hint=f"ask for another version of {name}, or name the module that it needs in `env.modules`",
        )
    return Tried(modules=modules, notes=tuple(notes))


def _reason(code: int, lines: Sequence[str]) -> list[str]:
    if code < 0:
        import signal

        return [f"ended by {signal.Signals(-code).name}", *lines[-2:]]
    return list(lines[-3:])
