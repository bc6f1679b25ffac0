"""A lock for the project on a site, made and written."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from voyageur.commands import session
from voyageur.commands.env.setting import Setting
from voyageur.commands.environments import lock_site, read_lock
from voyageur.env.lock import Lock, lock_name, lock_text
from voyageur.errors import SpecError
from voyageur.runtime.folder import write_atomically

if TYPE_CHECKING:
    from voyageur.env.pinned import Pinned
    from voyageur.workshop.locking import Lacking, Locked

# A lock of another tool says more than what it was made from.
USUAL = (
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


def make_lock(setting: Setting, *, download: bool = False, relax: bool = False) -> Locked:
    """Raises SpecError; of a wheelhouse with the nearest version that it has."""
    from voyageur.env.sources import python_of
    from voyageur.show.output import aside
    from voyageur.workshop.locking import Ask, Lacking, lock_project
    from voyageur.workshop.python import find_python
    from voyageur.workshop.room import fast_folder, full_disks_told, work_folder
    from voyageur.workshop.shell import open_shell

    spec, site, names = setting.spec, setting.site, source_names(setting)
    pins, pinned_by = _pins_from_elsewhere(setting)
    ask = Ask(
        root=setting.root,
        names=names,
        title=site.name,
        modules=setting.modules,
        site=lock_site(site),
        wheels=spec.env.wheels,
        wheelhouse=site.software.wheelhouse,
        download=download,
        relax=relax,
        pins=pins,
        pinned_by=pinned_by,
    )
    around = session.environment()
    with full_disks_told(fast_folder(around), setting.root), work_folder(around) as work:
        shell = open_shell(setting.modules, site.software.purge, around, work)
        python = find_python(shell, spec.env.python or python_of(setting.root, names) or None)
        try:
            return lock_project(shell, python, ask, aside)
        except Lacking as problem:
            raise _as_the_site_says(problem, setting, python.target.python) from None


def _as_the_site_says(problem: Lacking, setting: Setting, python: str) -> SpecError:
    """Its own tool knows wheels for other Pythons and processors, too."""
    from voyageur.questions.wheels import ask_wheels, missing_wheels

    missing = missing_wheels(ask_wheels(session.here(), setting.site, problem.wanted, python))
    if not missing:
        return problem
    return SpecError(
        problem.what, facts=[*missing, f"asked: {setting.site.software.wheels_command}"], hint=problem.hint
    )


def source_names(setting: Setting) -> tuple[str, ...]:
    """Those that the project file names, else the one that is there."""
    if setting.spec.env.requirements:
        return setting.spec.env.requirements
    found = next((name for name in USUAL if (setting.root / name).is_file()), None)
    if found is None:
        raise SpecError(
            "nothing here says which packages are wanted",
            facts=[f"looked for {', '.join(USUAL)} in {setting.root}"],
            hint='write a requirements.txt, or name another file: `requirements = "FILE"` below [env] in voyageur.toml',
        )
    return (found,)


def _pins_from_elsewhere(setting: Setting) -> tuple[tuple[Pinned, ...], str]:
    """On a cluster with a wheelhouse, the versions of the lock that holds anywhere else."""
    from voyageur.env.pinned import Pinned

    file = setting.root / lock_name("")
    if not setting.site.software.wheelhouse or not file.is_file():
        return (), ""
    _, lock = read_lock(file)
    return tuple(Pinned(name=one.name, version=one.version) for one in lock.packages), file.name


def write_lock(setting: Setting, lock: Lock) -> Path:
    path = setting.root / lock_name(lock.site)
    try:
        write_atomically(str(path), lock_text(lock).encode("utf-8"), mode=0o644)
    except OSError as problem:
        raise SpecError(
            f"{path.name} cannot be written: {problem.strerror}", facts=[str(setting.root)], hint="make room there"
        ) from None
    return path
