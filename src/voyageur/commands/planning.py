"""From what was typed to a plan and its script. `plan` stops here, `submit` and `run` go on."""

from __future__ import annotations

import os
import shutil
from pathlib import Path, PurePosixPath

from msgspec import Struct
from msgspec.structs import replace

from voyageur import places
from voyageur.commands import session
from voyageur.commands.charging import ask_allowance, scratch_of
from voyageur.commands.checking import check_command, check_site_name, path_notes, site_table_notes
from voyageur.commands.installed import check_installed
from voyageur.commands.judging import ignored_rules
from voyageur.commands.knowing import known_of
from voyageur.commands.options import Wish
from voyageur.commands.remembered import with_memories
from voyageur.errors import SpecError
from voyageur.findings import Finding
from voyageur.plan import Identity, Plan, Seen, Surroundings, draw_identity, folders_for, make_plan, slug_for
from voyageur.project.recognise import recognise_program
from voyageur.record import Run
from voyageur.record.create import RunExists, create_run
from voyageur.rules import Case, Known, judge
from voyageur.script import render
from voyageur.site import Site
from voyageur.snapshot import OwnFiles, Package, gather, own_files, store
from voyageur.spec import Given, Spec, read_spec

_ACCOUNT_VARIABLES = ("SBATCH_ACCOUNT", "SALLOC_ACCOUNT", "SLURM_ACCOUNT")


class Planned(Struct, frozen=True, kw_only=True):
    spec: Spec
    site: Site
    around: Surroundings
    package: Package
    notes: tuple[str, ...]
    plan: Plan
    script: str
    known: Known = Known()
    findings: tuple[Finding, ...] = ()
    ignored: tuple[str, ...] = ()

    @property
    def case(self) -> Case:
        return Case(spec=self.spec, site=self.site, plan=self.plan, known=self.known)


class Wished(Struct, frozen=True, kw_only=True):
    """All that is known before anything is decided."""

    spec: Spec
    site: Site
    around: Surroundings
    package: Package
    notes: tuple[str, ...]
    identity: Identity
    ignored: tuple[str, ...] = ()


def plan_from(wish: Wish, site_name: str | None = None) -> Planned:
    planned = plan_of(wished_from(wish, site_name))
    check_installed(planned.site, planned.plan)
    return judged(planned)


def judged(planned: Planned) -> Planned:
    """By the rules of its site. What to do about the findings is for the verb to say."""
    planned = replace(planned, known=known_of(planned.site, planned.plan, planned.around))
    return replace(planned, findings=judge(planned.case, planned.ignored))


def plan_of(wished: Wished, spec: Spec | None = None) -> Planned:
    """`spec` is another shape of the same wish."""
    around, package, notes = wished.around, wished.package, wished.notes
    planned = _planned(spec or wished.spec, wished.site, around, package, notes, wished.identity)
    return replace(planned, ignored=wished.ignored)


def wished_from(wish: Wish, site_name: str | None = None) -> Wished:
    spec = read_wish(wish, site_name)
    return wished_of(spec, ignored_rules(wish, spec), wish.brings)


def wished_of(spec: Spec, ignored: tuple[str, ...] = (), brings: bool = False, packages: bool = True) -> Wished:
    """`brings`: an image that is elsewhere is fetched. Without `packages` the job has no environment of its own."""
    identity = draw_identity(slug_for(spec))
    check_site_name(spec)
    site = session.choose_site(spec.site)
    around = with_memories(surroundings(spec, site), spec, site)
    around = replace(around, datasets=_datasets(spec, site, around, identity))
    around, lacking = _with_environment(spec, site, around) if packages else (around, ())
    around = _with_image(spec, site, around, identity, brings)
    package = gather(spec.project.root, spec.snapshot, _own_files(spec, around, identity))
    check_command(spec, site, around, package)
    notes = (
        *site_table_notes(spec),
        *path_notes(spec, site, around, session.environment()),
        *package.selection.notes,
        *lacking,
        *((around.image.note,) if around.image and around.image.note else ()),
    )
    return Wished(spec=spec, site=site, around=around, package=package, notes=notes, identity=identity, ignored=ignored)


def _datasets(spec: Spec, site: Site, around: Surroundings, identity: Identity) -> dict[str, Seen]:
    if not spec.data:
        return {}
    from voyageur.commands.datasets import see

    return see(spec, folders_for(spec, around, identity).scratch, not session.is_here(site))


def _with_environment(spec: Spec, site: Site, around: Surroundings) -> tuple[Surroundings, tuple[str, ...]]:
    """The one that was made, and a note where one is asked for and not made yet."""
    from voyageur.commands.environments import environment_for
    from voyageur.env.lock import in_job

    found = environment_for(spec, site, around.scratch)
    if found.missing:
        return around, (f"{found.missing}: `{found.hint}`",)
    if found.in_job and found.lock and found.lock_file:
        return replace(around, lock=in_job(found.lock, found.lock_file.name)), ()
    return replace(around, environment=found.built), ()


def _with_image(spec: Spec, site: Site, around: Surroundings, identity: Identity, brings: bool) -> Surroundings:
    if not spec.env.image:
        return around
    from voyageur.commands.images import programs_here, see_image

    around = replace(around, container_programs=programs_here() if session.is_here(site) else {})
    scratch = Path(folders_for(spec, around, identity).scratch)
    return replace(around, image=see_image(spec, site, around, scratch, brings))


def read_wish(wish: Wish, site_name: str | None = None) -> Spec:
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
    if str(here) in (os.path.expanduser("~"), "/"):
        raise SpecError(f"{here} is no project: all of it would travel", hint="change to the folder of your program")
    return here


def _own_files(spec: Spec, around: Surroundings, identity: Identity) -> OwnFiles:
    folders = folders_for(spec, around, identity)
    image = os.path.realpath(around.image.path) if around.image and os.path.isabs(around.image.path) else ""
    return own_files(
        spec.project.root,
        scratch=PurePosixPath(around.scratch),
        project_scratch=folders.scratch,
        image=image,
    )


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
    accounts, balances = ask_allowance(site)
    return Surroundings(
        scratch=places.scratch_folder(spec.scratch, scratch_of(spec, site, accounts), environment),
        active_venv=environment.get("VIRTUAL_ENV") or _venv_on_path(),
        project_venv=str(own) if own else None,
        conda=environment.get("CONDA_PREFIX"),
        accounts=accounts,
        balances=balances,
        account_variables={name: environment[name] for name in _ACCOUNT_VARIABLES if environment.get(name)},
    )


def _venv_on_path() -> str | None:
    """The virtual environment whose Python comes first on the PATH, if nobody said that it is active."""
    python = shutil.which("python3")
    folder = Path(python).parent.parent if python else Path("/nonexistent")
    return str(folder) if (folder / "pyvenv.cfg").is_file() and (folder / "bin" / "activate").is_file() else None


def _planned(
    spec: Spec,
    site: Site,
    around: Surroundings,
    package: Package,
    notes: tuple[str, ...],
    identity: Identity,
) -> Planned:
    recognised = recognise_program(spec.project.root, package.selection.files, spec.project.start_in, spec.command)
    code = package.frozen(folders_for(spec, around, identity).code)
    plan = make_plan(spec, site, around, identity, code, notes, recognised)
    return Planned(
        spec=spec,
        site=site,
        around=around,
        package=package,
        notes=notes,
        plan=plan,
        script=render(plan),
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
            planned = _drawn_again(planned)


def _drawn_again(planned: Planned) -> Planned:
    identity = draw_identity(planned.plan.identity.slug)
    return _planned(planned.spec, planned.site, planned.around, planned.package, planned.notes, identity)


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


def unset_secrets(spec: Spec) -> list[str]:
    return [name for name in spec.env.secrets if name not in session.environment()]


def _secret_values(spec: Spec) -> dict[str, str]:
    environment = session.environment()
    if missing := unset_secrets(spec):
        raise SpecError(
            f"the secret {missing[0]} is not set in this shell",
            facts=[f"wanted by {spec.source('env.secrets')}"],
            hint=f"export {missing[0]} before you submit; its value goes into no script and no log",
        )
    return {name: environment[name] for name in spec.env.secrets}
