"""A lock for the project on a site, made and written."""

from __future__ import annotations

from pathlib import Path

from voyageur.commands import session
from voyageur.commands.env.setting import Setting, work_folder
from voyageur.commands.environments import lock_site
from voyageur.env.lock import Lock, lock_name, lock_text
from voyageur.errors import SpecError
from voyageur.runtime.folder import write_atomically

USUAL = ("requirements.txt", "pyproject.toml")


def make_lock(setting: Setting, *, with_uv: bool = True) -> Lock:
    from voyageur.show.output import aside
    from voyageur.workshop.locking import Ask, lock_project
    from voyageur.workshop.python import find_python
    from voyageur.workshop.shell import open_shell

    spec, site = setting.spec, setting.site
    ask = Ask(
        root=setting.root,
        names=source_names(setting),
        modules=setting.modules,
        site=lock_site(site),
        wheels=spec.env.wheels,
        with_uv=with_uv,
    )
    with work_folder() as work:
        shell = open_shell(setting.modules, site.software.purge, session.environment(), work)
        python = find_python(shell, spec.env.python)
        return lock_project(shell, python, ask, aside)


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


def write_lock(setting: Setting, lock: Lock) -> Path:
    path = setting.root / lock_name(lock.site)
    try:
        write_atomically(str(path), lock_text(lock).encode("utf-8"), mode=0o644)
    except OSError as problem:
        raise SpecError(
            f"{path.name} cannot be written: {problem.strerror}", facts=[str(setting.root)], hint="make room there"
        ) from None
    return path
