"""Is what the launch style needs in the environment that the job will have? Asked here, if that environment is here."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

from voyageur.commands import session
from voyageur.env import Built
from voyageur.errors import SpecError
from voyageur.launch import Style, style_named
from voyageur.plan import Plan
from voyageur.site import Site

_FIND = "import importlib.util, sys; sys.exit(importlib.util.find_spec(sys.argv[1]) is None)"
_PATIENCE = 10.0


def check_installed(site: Site, plan: Plan) -> None:
    """Modules may bring it, and another machine has its own: then the run says so in its first second."""
    style = style_named(plan.launch.value)
    if style is None or plan.container or plan.modules.value or not session.is_here(site):
        return
    word, modules = _needed(plan)
    if plan.environment.value:
        _check_made(style, modules, plan, plan.environment.value)
        return
    folder = Path(plan.activate.value).parent if plan.activate.value else None
    for module in modules:
        python = _python(word, folder)
        if python and not _has(python, module):
            raise SpecError(
                f"`{style.name}` needs the package `{module}`, and the run's environment has none",
                facts=[f"{plan.launch.because}", f"the run's Python is {python}"],
                hint=f"`{python} -m pip install {_PACKAGE.get(module, module)}`, or another style with `--launch`",
            )
    for program in style.programs:
        if folder and not os.access(folder / program, os.X_OK) and not _on_standard_path(program):
            raise SpecError(
                f"`{style.name}` needs the program `{program}`, and the run's environment has none",
                facts=[str(folder)],
                hint="install it there, or name the module that brings it in [env] modules",
            )


def _needed(plan: Plan) -> tuple[str, list[str]]:
    """The run's Python, as the run itself will look for it, and the modules that it must have."""
    told = next((export.value for export in plan.exports if export.name == "VOY_NEEDS"), "python")
    word, *modules = shlex.split(told)
    return word, modules


def _check_made(style: Style, modules: list[str], plan: Plan, built: Built) -> None:
    """What is in it was written down when it was made."""
    for module in modules:
        if built.imports and module.partition(".")[0] not in built.imports:
            raise SpecError(
                f"`{style.name}` needs the package `{module}`, and the run's environment has none",
                facts=[f"{plan.launch.because}", f"the environment was made from {built.source}"],
                hint=f"add {_PACKAGE.get(module, module)} to what it is made from, and `voy env lock`",
            )


_PACKAGE = {"distributed": "'dask[distributed]'"}


def _python(word: str, folder: Path | None) -> str:
    """The run's own, if it can be known: by its whole path, or in the virtual environment that is activated."""
    found = Path(word) if "/" in word else folder / word if folder else None
    return str(found) if found and os.access(found, os.X_OK) else ""


def _has(python: str, module: str) -> bool:
    """True also when it does not answer: then nobody knows."""
    try:
        answer = subprocess.run(
            [python, "-c", _FIND, module], timeout=_PATIENCE, check=False, capture_output=True, cwd="/"
        )
    except (OSError, subprocess.TimeoutExpired):
        return True
    return answer.returncode == 0


def _on_standard_path(program: str) -> bool:
    from shutil import which

    from voyageur.runtime.inherited import STANDARD_PATH

    return which(program, path=STANDARD_PATH) is not None
