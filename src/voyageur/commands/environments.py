"""Which environment a run is to have, and whether it is made. Quick: a lock and a record are read, nobody is asked."""

from __future__ import annotations

import os
from pathlib import Path

from msgspec import Struct

from voyageur.commands import session
from voyageur.env.lock import Lock, LockError, key_of, lock_from, lock_name
from voyageur.env.model import Built
from voyageur.env.sources import digests_of, kind_of
from voyageur.env.store import environments_folder, find_built
from voyageur.errors import SpecError
from voyageur.plan.environment import decide_modules
from voyageur.site import Site
from voyageur.spec import Spec

IN_JOB = "in-job"


class Provision(Struct, frozen=True, kw_only=True):
    """`built` is what was made. Without it, `missing` says in words why there is none, and `hint` what to type.

    Both are empty for a project that asks for nothing, and for one that installs in the job: that gets `requirements`,
    and the lock where there is one. `stale`: the lock must be made first.
    """

    built: Built | None = None
    missing: str = ""
    hint: str = ""
    in_job: bool = False
    stale: bool = False
    requirements: tuple[str, ...] = ()
    lock: Lock | None = None
    lock_file: Path | None = None
    lock_text: str = ""
    key: str = ""

    @property
    def is_wanted(self) -> bool:
        return bool(self.requirements or self.lock_file)


def environment_for(spec: Spec, site: Site, scratch: str) -> Provision:
    """Raises SpecError for a lock that cannot be read. An image, or a virtual environment that is named, wins."""
    file = find_lock(spec, site)
    if spec.env.image or spec.says("env.venv") or not (file or spec.env.requirements):
        return Provision()
    wanted = Provision(requirements=spec.env.requirements, lock_file=file, in_job=spec.env.build == IN_JOB)
    on = _on(site)
    if file is None:
        missing = f"{', '.join(spec.env.requirements)} {_has(spec.env.requirements)} no lock yet"
        if wanted.in_job and _pip_reads(spec) and not site.software.wheelhouse:
            missing = ""
        return _with(wanted, missing=missing, hint=f"voy env lock{on}", stale=True)
    text, lock = read_lock(file)
    wanted = _with(wanted, lock=lock, lock_text=text)
    if reason := why_stale(spec, site, lock):
        return _with(wanted, missing=reason, hint=f"voy env lock{on}", stale=True)
    if wanted.in_job:
        _check_in_job(lock)
        return wanted
    key = key_of(lock, spec.env.form)
    built = find_built(environments_folder(scratch), key)
    if built is None:
        return _with(wanted, missing=f"what {file.name} says is not built yet", hint=f"voy env build{on}", key=key)
    if built.base and session.is_here(site) and not os.path.exists(built.base):
        missing = f"the Python that the environment stands on is gone: {built.base}"
        return _with(wanted, missing=missing, hint=f"voy env build --again{on}", key=key)
    return _with(wanted, built=built, key=key)


def _pip_reads(spec: Spec) -> bool:
    """Else a node needs a lock, which it does read. So it does where wheels may be lacking: a lock names them now."""
    return all(kind_of(spec.project.root, name) == "requirements" for name in spec.env.requirements)


def _check_in_job(lock: Lock) -> None:
    if lock.as_is:
        raise SpecError(
            f"{lock.sources[0].name} is taken as it is, and cannot be made on each node",
            facts=['env.build = "in-job"'],
            hint="leave `env.build` out; `voy env build` makes one file of it",
        )


def _has(names: tuple[str, ...]) -> str:
    return "has" if len(names) == 1 else "have"


def _with(provision: Provision, **changes: object) -> Provision:
    from msgspec.structs import replace

    return replace(provision, **changes)


def _on(site: Site) -> str:
    return "" if site.name == session.usual_site() else f" --on {site.name}"


# ── locks ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def lock_site(site: Site) -> str:
    """The site in a lock's name: empty where nothing is known of it but that it is this machine's."""
    return "" if site.name in ("local", "slurm") else site.name


def find_lock(spec: Spec, site: Site) -> Path | None:
    """The site's own; else the one for any."""
    names = dict.fromkeys([lock_name(lock_site(site)), lock_name("")])
    return next((file for name in names if (file := spec.project.root / name).is_file()), None)


def read_lock(file: Path) -> tuple[str, Lock]:
    try:
        text = file.read_text(encoding="utf-8")
        return text, lock_from(text)
    except (OSError, UnicodeDecodeError, LockError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        raise SpecError(
            f"{file.name} is no lock", facts=[str(file), reason], hint="`voy env lock` makes it anew"
        ) from None


def why_stale(spec: Spec, site: Site, lock: Lock) -> str:
    """What has changed since the lock was made, or where it was made for; empty when it still holds."""
    now = {source.name: source.sha256 for source in digests_of(spec.project.root, [one.name for one in lock.sources])}
    for source in lock.sources:
        if now[source.name] != source.sha256:
            return f"{source.name} {'has changed' if now[source.name] else 'is gone'} since the lock was made"
    if unread := [name for name in spec.env.requirements if name not in now]:
        return f"the lock was made without {unread[0]}"
    modules = decide_modules(spec, site).value
    if lock.modules != modules:
        return f"the lock was made with {_named(lock.modules)}, and the run has {_named(modules)}"
    if spec.env.python and not f"{spec.env.python}.".startswith(f"{lock.target.python}."):
        return f"the lock is for Python {lock.target.python}, and env.python asks for {spec.env.python}"
    if site.software.architecture and site.software.architecture != lock.target.machine:
        return f"the lock is for {lock.target.machine}, and {site.name} is {site.software.architecture}"
    return ""


def _named(modules: tuple[str, ...]) -> str:
    return f"the modules {' '.join(modules)}" if modules else "no modules"
