"""Before anything is made: is the program there, will the job find it, and is everything named that is known?"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from voyageur.commands import session
from voyageur.errors import SiteError, SpecError
from voyageur.plan import Surroundings
from voyageur.plan.environment import decide_activation
from voyageur.plan.packages import decide_environment, is_made_in_job
from voyageur.runtime.inherited import STANDARD_PATH, job_variables
from voyageur.site import Site, profile_names
from voyageur.snapshot import Package
from voyageur.spec import Spec
from voyageur.spec.keys import nearest

_INTERPRETERS = ("python", "python3", "bash", "sh", "torchrun", "julia", "Rscript", "perl")
_PATIENCE = 3.0  # seconds that a login shell may take to start; a profile that takes longer is not waited for


def known_sites() -> list[str]:
    return ["local", "slurm", *profile_names(session.own_profiles())]


def check_site_name(spec: Spec) -> None:
    if spec.site is not None:
        check_site_named(spec.site, spec.source("site"))


def check_site_named(name: str, source: str) -> None:
    known = known_sites()
    if name in known:
        return
    guess = nearest(name, known)
    raise SiteError(
        f"unknown site `{name}`",
        facts=[f"given by {source}"],
        hint=f"did you mean `--on {guess}`?" if guess else "`voy site list` shows those there are",
    )


def site_table_notes(spec: Spec) -> Iterator[str]:
    known = known_sites()
    for name, source in spec.site_tables.items():
        if name not in known and (guess := nearest(name, known)):
            yield f"[sites.{name}] ({source}) is of no known site, so it does not count; did you mean [sites.{guess}]?"


# ── the program ──────────────────────────────────────────────────────────────────────────────────────────────────────


def check_command(spec: Spec, site: Site, around: Surroundings, package: Package) -> None:
    """A misspelled program is found now, not after an hour in the queue."""
    program, *arguments = spec.command
    if spec.env.image and (os.path.isabs(program) or "/" not in program):
        pass  # the image has it, or the first second of the run says that it has not
    elif "/" in program:
        _check_file(spec, site, package, program, must_execute=True)
    elif not (shutil.which(program) or _venv_has(spec, around, program) or _may_come_from_elsewhere(spec, site)):
        raise _no_such_command(spec, around)
    if program in _INTERPRETERS and arguments and arguments[0].endswith((".py", ".sh", ".jl", ".R")):
        _check_file(spec, site, package, arguments[0], must_execute=False)


def _no_such_command(spec: Spec, around: Surroundings) -> SpecError:
    program = spec.command[0]
    there = [name for name in _INTERPRETERS if shutil.which(name) or _venv_has(spec, around, name)]
    guess = nearest(program, there)
    return SpecError(
        f"there is no command `{program}` on this machine",
        facts=[f"given by {spec.source('command')}"],
        hint=f"did you mean `{guess}`?" if guess else "name the module that brings it in [env] modules",
    )


def _venv_has(spec: Spec, around: Surroundings, program: str) -> bool:
    """The environment that the job has brings its own programs, whatever this shell has."""
    if is_made_in_job(spec):  # nobody knows which, before it is made
        return True
    environment = decide_environment(spec, around)
    if environment.value:
        return program in environment.value.programs
    activate = decide_activation(spec, around, environment).value
    return activate is not None and os.access(Path(activate).parent / program, os.X_OK)


def _may_come_from_elsewhere(spec: Spec, site: Site) -> bool:
    return bool(spec.env.modules or site.software.modules) or not session.is_here(site)


def path_notes(spec: Spec, site: Site, around: Surroundings, environment: Mapping[str, str]) -> Iterator[str]:
    """A program that is only on this shell's PATH: the job does not inherit that."""
    program = spec.command[0]
    here = shutil.which(program)
    if (
        spec.env.image
        or "/" in program
        or here is None
        or _may_come_from_elsewhere(spec, site)
        or _venv_has(spec, around, program)
    ):
        return
    own_path = spec.env.variables.get("PATH")
    if shutil.which(program, path=own_path or STANDARD_PATH):
        return
    if own_path is None and _login_shell_has(program, environment):
        return
    yield (
        f"the job does not take this shell's PATH: `{program}` is {here} here, and the job will not find it; "
        "set [env] venv or modules, or name it by its whole path"
    )


def _login_shell_has(program: str, environment: Mapping[str, str]) -> bool:
    """Asked as the job's own shell would be. True also when it does not answer: then nobody knows."""
    try:
        answer = subprocess.run(
            ["bash", "-lc", 'command -v -- "$1"', "bash", program],
            env=job_variables(environment), timeout=_PATIENCE, check=False,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return True
    return answer.returncode == 0


# ── files ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _check_file(spec: Spec, site: Site, package: Package, name: str, must_execute: bool) -> None:
    if "{" in name:
        return
    if os.path.isabs(name):
        path = Path(name)
        if not session.is_here(site):
            return
        if not path.is_file():
            raise SpecError(f"there is no file {name}", hint="check its path; the nodes must have it under the same")
    else:
        relative = os.path.normpath(os.path.join(spec.project.start_in, name))
        path = spec.project.root / relative
        if not _travels(spec.project.root, relative, set(package.selection.files)):
            raise _missing(package, relative)
    if must_execute and not os.access(path, os.X_OK):
        raise SpecError(f"{name} may not be executed", hint=f"`chmod +x {name}`, or start it with its interpreter")


def _travels(root: Path, relative: str, files: set[str]) -> bool:
    """Itself, or behind a link that travels: into the project to the frozen file, out of it to the same place."""
    if relative in files:
        return True
    parts = relative.split("/")
    if not any("/".join(parts[:count]) in files for count in range(1, len(parts))):
        return False
    real, top = os.path.realpath(root / relative), os.path.realpath(root)
    return os.path.relpath(real, top) in files if real.startswith(f"{top}/") else os.path.isfile(real)


def _missing(package: Package, name: str) -> SpecError:
    for item in package.selection.left_out:
        if item.name == name or (item.name.endswith("/") and name.startswith(item.name)):
            hint = "take it along by naming it under [snapshot] include"
            if item.name.endswith("/"):
                hint = "copy it into another folder of the project, one that you may read and that no run writes to"
            return SpecError(f"{name} does not travel with the code", facts=[item.because], hint=hint)
    guess = nearest(name, package.selection.files)
    return SpecError(
        f"there is no {name} in the project",
        facts=["`voy plan --files` lists what there is"],
        hint=f"did you mean {guess}?" if guess else "is it ignored by git, or in another folder?",
    )
