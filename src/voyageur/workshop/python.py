"""Which Python an environment stands on, and what it can do."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from voyageur.env.tools import Places, places_from
from voyageur.env.wheel import Target
from voyageur.errors import SpecError
from voyageur.workshop.shell import Shell

_PATIENCE = 60.0
_SURVEY = """
import json, os, platform, sys
base = os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)
libc = platform.libc_ver()
try:
    import pip
    pip_version = pip.__version__
except Exception:
    pip_version = ""
print("voyageur: " + json.dumps({
    "base": base, "version": platform.python_version(), "machine": platform.machine(), "libc": " ".join(libc).strip(),
    "pip": pip_version, "implementation": sys.implementation.name,
}))
"""


class Python(Struct, frozen=True, kw_only=True):
    """`base` is the whole path of the program; `pip` the version that it has, empty for none."""

    base: str
    version: str
    target: Target
    pip: str = ""


def find_python(shell: Shell, wanted: str | None) -> Python:
    """The one asked for, else that of the modules or of this machine. Raises SpecError."""
    seen = []
    for program in _candidates(shell, wanted):
        found = _survey(shell, program)
        if found is None:
            continue
        if wanted is None or f"{found.version}.".startswith(f"{wanted}."):
            return found
        seen.append(f"{program} is Python {found.version}")
    raise SpecError(
        f"there is no Python {wanted or '3'} here",
        facts=list(dict.fromkeys(seen)),
        hint="name the module that brings it in `env.modules`, or another version in `env.python`",
    )


def _candidates(shell: Shell, wanted: str | None) -> Iterator[str]:
    minor = ".".join(wanted.split(".")[:2]) if wanted else ""
    names = [*([f"python{minor}"] if minor else []), "python3", "python"]
    # A module may bring `python3` alone: it comes before the `python3.11` of the system, whose folder comes later.
    yield from sorted(filter(None, map(shell.find, names)), key=lambda program: _place(shell, program))
    if not minor or minor == f"{sys.version_info[0]}.{sys.version_info[1]}":
        yield sys.executable
    if minor and (uv := find_uv(shell)):
        answer = shell.run([uv, "python", "find", "--no-config", "--no-python-downloads", minor], patience=_PATIENCE)
        if answer.ok and answer.output.strip():
            yield answer.output.strip()


def _place(shell: Shell, program: str) -> int:
    folders = shell.variables.get("PATH", "").split(":")
    folder = os.path.dirname(program)
    return folders.index(folder) if folder in folders else len(folders)


def _survey(shell: Shell, program: str) -> Python | None:
    """None for what is no Python of this kind; a shim for a version that is not there is one."""
    answer = shell.run([program, "-c", _SURVEY], patience=_PATIENCE)
    lines = [line for line in answer.output.splitlines() if line.startswith("voyageur: ")]
    if not answer.ok or not lines:
        return None
    told = json.loads(lines[-1].removeprefix("voyageur: "))
    if told["implementation"] != "cpython" or not told["version"].startswith("3."):
        return None
    target = Target(python=".".join(told["version"].split(".")[:2]), machine=told["machine"], libc=told["libc"])
    return Python(base=told["base"], version=told["version"], target=target, pip=told["pip"])


# ── the tools that install ───────────────────────────────────────────────────────────────────────────────────────────


def find_uv(shell: Shell) -> str | None:
    """On the PATH, or beside ourselves. A shim for a version that is not there is none."""
    beside = Path(sys.executable).parent / "uv"
    found = [shell.find("uv"), shutil.which("uv"), str(beside) if os.access(beside, os.X_OK) else None]
    return next((uv for uv in found if uv and shell.run([uv, "--version"], patience=_PATIENCE).ok), None)


def find_pip(shell: Shell, python: Python) -> list[str] | None:
    """That of the Python itself; else ours, which can work for another since 22.3."""
    if _number(python.pip) >= (22, 3):
        return [python.base, "-m", "pip"]
    answer = shell.run([sys.executable, "-m", "pip", "--version"], patience=_PATIENCE)
    if answer.ok and _number(answer.output.removeprefix("pip ").split(" ")[0]) >= (22, 3):
        return [sys.executable, "-m", "pip"]
    return None


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2] if part.isdigit())


def wheel_places(shell: Shell, python: Python) -> Places:
    """Where pip looks on this machine: its files, the variables that a module sets, all of it."""
    for program in (python.base, sys.executable):  # any pip will do, however old it is
        answer = shell.run([program, "-m", "pip", "config", "list"], patience=_PATIENCE)
        if answer.ok:
            return places_from(answer.output)
    return Places()
