"""From a project's files to a lock for one site."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from voyageur.env.lock import Lock, Package
from voyageur.env.requirements import NoFile, Requirement
from voyageur.env.sources import SourceError, Wants, digests_of, wants_of
from voyageur.env.tools import Places, with_options
from voyageur.errors import SpecError
from voyageur.workshop.gathering import digest_of
from voyageur.workshop.python import Python, wheel_places
from voyageur.workshop.resolving import Wish, resolve
from voyageur.workshop.shell import Shell

Tell = Callable[[str], None]


class Ask(Struct, frozen=True, kw_only=True):
    """`names` are the files that say what is wanted, `wheels` the project's own folder of wheels."""

    root: Path
    names: tuple[str, ...]
    modules: tuple[str, ...] = ()
    site: str = ""
    wheels: str | None = None
    with_uv: bool = True


def lock_project(shell: Shell, python: Python, ask: Ask, tell: Tell) -> Lock:
    """Raises SpecError that names the file or the package."""
    wants = read_wants(ask.root, ask.names)
    places = with_options(_places(shell, python, ask), wants.options)
    wish = Wish(
        wanted=tuple(one.text for one in wants.wanted),
        constraints=tuple(one.text for one in wants.constraints),
        places=places,
    )
    found = resolve(shell, python, wish, with_uv=ask.with_uv)
    packages = tuple(_settled(package, ask.root) for package in found.packages)
    return Lock(
        target=python.target,
        packages=packages,
        sources=digests_of(ask.root, wants.files),
        wanted=_direct(wants.wanted, packages),
        modules=ask.modules,
        site=ask.site,
        by=found.by,
    )


def read_wants(root: Path, names: Sequence[str]) -> Wants:
    try:
        wants = wants_of(root, names)
    except NoFile as problem:
        name, by, why = problem.args
        raise SpecError(
            f"there is no file {name}" if "No such" in why else f"{name} cannot be read: {why}",
            facts=[f"named by {by}"],
            hint="its path counts from the project's folder",
        ) from None
    except SourceError as problem:
        raise SpecError(problem.what, hint=problem.hint) from None
    if wants.foreign:
        raise _foreign(wants.foreign[0])
    return wants


def _foreign(one: Requirement) -> SpecError:
    facts = [f"{one.file}:{one.line}: {one.text}"]
    if one.text.startswith(("-e", "--editable", ".")):
        hint = (
            "leave it out: the project's own code travels with each run; `pip wheel` makes a package of another folder"
        )
        return SpecError("a folder is no package that could be locked", facts=facts, hint=hint)
    if one.text.startswith("-"):
        return SpecError(f"`{one.text.split()[0]}` is no option that is known here", facts=facts, hint="leave it out")
    hint = '`pip wheel --no-deps ADDRESS -w wheels` makes one; name it by its version, and set `env.wheels = "wheels"`'
    return SpecError("an address is no package that could be locked", facts=facts, hint=hint)


def _places(shell: Shell, python: Python, ask: Ask) -> Places:
    """The project's own wheels come first."""
    places = wheel_places(shell, python)
    own = own_wheels(ask.root, ask.wheels)
    return replace(places, find_links=(*own, *places.find_links))


def own_wheels(root: Path, wheels: str | None) -> tuple[str, ...]:
    if wheels is None:
        return ()
    folder = root / wheels
    if not folder.is_dir():
        raise SpecError(
            f"there is no folder {folder}", facts=["asked for by env.wheels"], hint="`voy env lock --download` makes it"
        )
    return (str(folder),)


def _settled(package: Package, root: Path) -> Package:
    """With a digest, and a path below the project as that counts from there."""
    origin = package.origin
    if "://" in origin:
        return package
    inside = os.path.relpath(origin, root)
    return replace(
        package,
        sha256=package.sha256 or digest_of(Path(origin)),
        origin=origin if inside.startswith("..") else inside,
    )


def _direct(wanted: Sequence[Requirement], packages: Sequence[Package]) -> tuple[str, ...]:
    """Those that were asked for and are there: a mark may have left some out."""
    there = {package.name for package in packages}
    return tuple(sorted({one.name for one in wanted} & there))
