"""From what was typed to a plan and its script. `plan` stops here, `submit` and `run` go on."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from msgspec import Struct

from voyageur import places
from voyageur.commands import session
from voyageur.commands.options import Wish
from voyageur.errors import SpecError
from voyageur.plan import Identity, Plan, Surroundings, draw_identity, folders_for, make_plan, slug_for
from voyageur.record import Run
from voyageur.record.create import RunExists, create_run
from voyageur.script import render
from voyageur.site import Site
from voyageur.snapshot import Package, gather, store
from voyageur.spec import Given, Spec, read_spec
from voyageur.spec.keys import nearest


class Planned(Struct, frozen=True, kw_only=True):
    spec: Spec
    site: Site
    around: Surroundings
    package: Package
    plan: Plan
    script: str


def plan_from(wish: Wish, site_name: str | None = None) -> Planned:
    spec = _read(wish, site_name)
    slug = slug_for(spec)
    site = session.choose_site(spec.site)
    package = gather(spec.project.root, spec.snapshot)
    check_command(spec, site, package)
    around = surroundings(spec, site)
    return _planned(spec, site, around, package, draw_identity(slug))


def _read(wish: Wish, site_name: str | None) -> Spec:
    flags = dict(wish.flags)
    if site_name:
        flags["site"] = Given(site_name, "voy run")
    environment = session.environment()
    folder = folder_typed_in()
    return read_spec(
        folder=folder,
        flags=flags,
        environment=environment,
        config=wish.config,
        user_file=places.user_file(environment),
        usual_site=session.usual_site(),
    )


def folder_typed_in() -> Path:
    try:
        here = Path.cwd()
    except FileNotFoundError:
        raise SpecError(
            "the folder you are in does not exist any more", hint="change to your project's folder"
        ) from None
    if here == Path.home() or here == Path("/"):
        raise SpecError(f"{here} is no project: all of it would travel", hint="change to the folder of your program")
    return here


def surroundings(spec: Spec, site: Site) -> Surroundings:
    environment = session.environment()
    own = next(
        (
            spec.project.root / name
            for name in (".venv", "venv")
            if (spec.project.root / name / "bin" / "activate").is_file()
        ),
        None,
    )
    return Surroundings(
        scratch=places.scratch_folder(spec.scratch, site.scratch, environment),
        active_venv=environment.get("VIRTUAL_ENV") or _venv_on_path(),
        project_venv=str(own) if own else None,
        conda=environment.get("CONDA_PREFIX"),
    )


def _venv_on_path() -> str | None:
    """The virtual environment whose Python comes first on the PATH, if nobody said that it is active."""
    python = shutil.which("python3")
    folder = Path(python).parent.parent if python else Path("/nonexistent")
    return str(folder) if (folder / "pyvenv.cfg").is_file() and (folder / "bin" / "activate").is_file() else None


def _planned(spec: Spec, site: Site, around: Surroundings, package: Package, identity: Identity) -> Planned:
    code = package.frozen(folders_for(spec, around, identity).code)
    plan = make_plan(spec, site, around, identity, code)
    return Planned(spec=spec, site=site, around=around, package=package, plan=plan, script=render(plan))


# ── before anything is made ──────────────────────────────────────────────────────────────────────────────────────────

_INTERPRETERS = ("python", "python3", "bash", "sh", "torchrun", "julia", "Rscript", "perl")


def check_command(spec: Spec, site: Site, package: Package) -> None:
    """A misspelled program is found now, not after an hour in the queue."""
    program, *arguments = spec.command
    if "/" in program:
        _check_file(spec, package, program, must_execute=True)
    elif not shutil.which(program) and not _modules_may_bring_it(spec, site):
        guess = nearest(program, _INTERPRETERS)
        raise SpecError(
            f"there is no command `{program}` on this machine",
            facts=[f"given by {spec.source('command')}"],
            hint=f"did you mean `{guess}`?" if guess else "name the module that brings it in [env] modules",
        )
    if program in _INTERPRETERS and arguments and arguments[0].endswith((".py", ".sh", ".jl", ".R")):
        _check_file(spec, package, arguments[0], must_execute=False)


def _modules_may_bring_it(spec: Spec, site: Site) -> bool:
    venv = spec.project.root / Path(spec.env.venv or "/nonexistent").expanduser() / "bin" / spec.command[0]
    return bool(spec.env.modules or site.modules) or venv.exists() or site.name not in ("local", "slurm")


def _check_file(spec: Spec, package: Package, name: str, must_execute: bool) -> None:
    if "{" in name:
        return
    if os.path.isabs(name):
        found = Path(name).exists()
    else:
        relative = os.path.normpath(os.path.join(spec.project.start_in, name))
        found = relative in package.selection.files
        name = relative if not found else name
    if not found:
        raise _missing(package, name)
    if must_execute and os.path.isabs(name) and not os.access(name, os.X_OK):
        raise SpecError(f"{name} may not be executed", hint=f"`chmod +x {name}`, or start it with its interpreter")


def _missing(package: Package, name: str) -> SpecError:
    for item in package.selection.left_out:
        if item.name == name:
            return SpecError(
                f"{name} does not travel with the code",
                facts=[item.because],
                hint="take it along by naming it under [snapshot] include",
            )
    guess = nearest(name, package.selection.files)
    return SpecError(
        f"there is no {name} in the project",
        facts=["`voy plan --files` lists what there is"],
        hint=f"did you mean {guess}?" if guess else "is it ignored by git, or in another folder?",
    )


# ── making it ────────────────────────────────────────────────────────────────────────────────────────────────────────


def make_run(planned: Planned) -> Run:
    """Freeze the code, write the run's folder. Nothing is submitted yet, and nothing is half-made."""
    secret_values = _secret_values(planned.spec)
    _store_code(planned)
    while True:
        try:
            return create_run(planned.plan, planned.spec, planned.script, secret_values)
        except RunExists:
            planned = _planned(
                planned.spec, planned.site, planned.around, planned.package, draw_identity(planned.plan.identity.slug)
            )


def _store_code(planned: Planned) -> None:
    folder = Path(planned.plan.folders.code)
    try:
        store(planned.package, folder)
    except OSError as problem:
        raise SpecError(
            f"the code cannot be stored: {problem.strerror}",
            facts=[str(folder)],
            hint="choose another place with `--scratch`, or make room there",
        ) from None


def _secret_values(spec: Spec) -> dict[str, str]:
    environment = session.environment()
    missing = [name for name in spec.env.secrets if name not in environment]
    if missing:
        raise SpecError(
            f"the secret {missing[0]} is not set in this shell",
            facts=[f"wanted by {spec.source('env.secrets')}"],
            hint=f"export {missing[0]} before you submit; its value goes into no script and no log",
        )
    return {name: environment[name] for name in spec.env.secrets}
