"""From a project's files to a lock for one site."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from voyageur.env.lock import Lock, Package
from voyageur.env.pinned import Pinned
from voyageur.env.requirements import NoFile, Requirement, requirement
from voyageur.env.sources import SourceError, Wants, digests_of, wants_of
from voyageur.env.tools import NoWheel, Places, best_wheel, with_options
from voyageur.env.wheel import wheel_from
from voyageur.errors import RunError, SpecError
from voyageur.workshop.gathering import Keys, digest_of, fetch
from voyageur.workshop.keys import filled
from voyageur.workshop.python import Python, wheel_places
from voyageur.workshop.resolving import Resolved, Unresolved, Wish, no_wheel, resolve
from voyageur.workshop.shell import Shell
from voyageur.workshop.stock import Lack, Stock, lacks, public, stock_of
from voyageur.workshop.whole import lock_as_it_is

_ROUNDS = 100  # packages that are fetched one after the other
_USUAL_WHEELS = "wheels"

Tell = Callable[[str], None]


class Ask(Struct, frozen=True, kw_only=True):
    """`names` are the files that say what is wanted, `wheels` the project's own folder of wheels.

    `wheelhouse`: nothing comes from elsewhere; `download` fetches what it lacks into that folder, `relax` takes other
    versions. `pins` are those of a lock that was made elsewhere, `pinned_by` its name.
    """

    root: Path
    names: tuple[str, ...]
    title: str = "this machine"
    modules: tuple[str, ...] = ()
    site: str = ""
    wheels: str | None = None
    wheelhouse: bool = False
    download: bool = False
    relax: bool = False
    pins: tuple[Pinned, ...] = ()
    pinned_by: str = ""
    with_uv: bool = True


class Change(Struct, frozen=True, kw_only=True):
    """A version that was wanted, and the one that was taken; empty for none."""

    name: str
    was: str
    now: str


class Locked(Struct, frozen=True, kw_only=True):
    lock: Lock
    changes: tuple[Change, ...] = ()
    fetched: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class Lacking(SpecError):
    """A wheelhouse that has not all that is `wanted`."""

    def __init__(self, what: str, *, facts: Iterable[str], hint: str, wanted: Sequence[Requirement]) -> None:
        super().__init__(what, facts=facts, hint=hint)
        self.wanted = tuple(f"{one.name}{one.bound}" for one in wanted)


def lock_project(shell: Shell, python: Python, ask: Ask, tell: Tell) -> Locked:
    """Raises SpecError that names the file or the package."""
    wants = read_wants(ask.root, ask.names, python)
    if wants.as_is:
        return Locked(lock=lock_as_it_is(ask.root, wants.as_is, python, ask.modules, ask.site))
    search = _Search(shell, python, ask, wants, tell)
    found = search.found()
    settled = (_settled(package, ask.root) for package in found.packages)
    packages = tuple(sorted(settled, key=lambda package: package.name))
    lock = Lock(
        target=python.target,
        packages=packages,
        sources=digests_of(ask.root, wants.files),
        wanted=_direct(wants, packages),
        modules=ask.modules,
        site=ask.site,
        by=found.by,
    )
    pinned = [*wants.wanted, *(_line(pin) for pin in (*wants.pinned, *ask.pins))]
    changes = tuple(_changes([one for one in pinned if one.pin], packages))
    if not ask.wheelhouse:  # that has files of its own
        _check_digests(wants, packages)
    return Locked(lock=lock, changes=changes, fetched=tuple(search.fetched), notes=wants.notes)


def read_wants(root: Path, names: Sequence[str], python: Python) -> Wants:
    try:
        wants = wants_of(root, names, python.target, python.version)
    except NoFile as problem:
        what = "there is no file" if "No such" in problem.why else f"{problem.why}:"
        hint = "leave that line out" if "each other" in problem.why else "its path counts from the project's folder"
        raise SpecError(f"{what} {problem.name}", facts=[f"named by {problem.by}"], hint=hint) from None
    except SourceError as problem:
        raise SpecError(problem.what, hint=problem.hint) from None
    if wants.foreign:
        raise _foreign(wants.foreign[0])
    for one in (*wants.wanted, *wants.constraints):
        _check_readable(one)
    return wants


def _check_readable(one: Requirement) -> None:
    from packaging.requirements import InvalidRequirement
    from packaging.requirements import Requirement as Readable

    try:
        Readable(one.plain)
    except InvalidRequirement as problem:
        reason = str(problem).splitlines()[0]
        hint = "write it like `numpy`, `numpy==1.26.4` or `numpy>=1.24,<2`"
        raise SpecError(f"`{one.plain}` names no package", facts=[f"{_place(one)}: {reason}"], hint=hint) from None


def _place(one: Requirement) -> str:
    return f"{one.file}:{one.line}" if one.line else one.file


def _foreign(one: Requirement) -> SpecError:
    facts = [f"{_place(one)}: {one.text}"]
    if wheel := wheel_from(_last(one.text)):
        hint = f"write {wheel.name}=={wheel.version}, and `--find-links FOLDER` for the folder that it lies in"
        return SpecError("a wheel is wanted by its name and version, not by its file", facts=facts, hint=hint)
    if one.text.startswith(("-e", "--editable", ".")):
        hint = (
            "leave it out: the project's own code travels with each run; `pip wheel` makes a package of another folder"
        )
        return SpecError("a folder is no package that could be locked", facts=facts, hint=hint)
    if one.text.startswith("-"):
        return SpecError(f"`{one.text.split()[0]}` is no option that is known here", facts=facts, hint="leave it out")
    hint = '`pip wheel --no-deps ADDRESS -w wheels` makes one; name it by its version, and set `env.wheels = "wheels"`'
    return SpecError("an address is no package that could be locked", facts=facts, hint=hint)


def own_wheels(root: Path, wheels: str | None) -> tuple[str, ...]:
    """The project's folder of wheels, where it is."""
    folder = root / (wheels or _USUAL_WHEELS)
    if folder.is_dir():
        return (str(folder),)
    if wheels is None:
        return ()
    raise SpecError(
        f"there is no folder {folder}", facts=["asked for by env.wheels"], hint="make it, or leave that out"
    )


# ── the search ───────────────────────────────────────────────────────────────────────────────────────────────────────


class _Search:
    """Tried as it is wanted; then, where that was allowed, with more wheels or with other versions."""

    def __init__(self, shell: Shell, python: Python, ask: Ask, wants: Wants, tell: Tell) -> None:
        self.shell = shell
        self.python = python
        self.ask = ask
        self.wants = wants
        self.tell = tell
        self.fetched: list[str] = []
        self.wanted = [*wants.wanted, *(_line(pin) for pin in wants.pinned)]
        self.bound = [_line(pin) for pin in ask.pins]
        self.places = self._places()

    def _places(self) -> Places:
        """The project's own wheels come first; a wheelhouse is all there is."""
        ask = self.ask
        machine = wheel_places(self.shell, self.python)
        own = own_wheels(ask.root, ask.wheels) if ask.wheels else ()
        # pip sorts by version and not by place, so a folder nobody asked for must not bring a newer one.
        places = replace(machine, find_links=(*own, *machine.find_links))
        places = with_options(places, [filled(word, self.shell.variables) for word in self.wants.options])
        return replace(places, no_index=True) if ask.wheelhouse else places

    def found(self) -> Resolved:
        if self.wants.pinned and not self.ask.wheelhouse and not self.wants.wanted:
            return self._as_pinned()
        try:
            return self._tried()
        except Unresolved as problem:
            if not self.ask.wheelhouse:
                raise
            return self._with_more(problem)

    def _tried(self) -> Resolved:
        beside = bool(self.ask.modules) and any(name in self.shell.variables for name in _OF_MODULES)
        return resolve(self.shell, self.python, self._wish(), with_uv=self.ask.with_uv, beside_modules=beside)

    def _wish(self) -> Wish:
        return Wish(
            wanted=tuple(one.plain for one in self.wanted),
            constraints=tuple(one.plain for one in (*self.wants.constraints, *self.bound)),
            places=self.places,
        )

    # ── other locks ──────────────────────────────────────────────────────────────────────────────────────────────────

    def _as_pinned(self) -> Resolved:
        """Nothing is found out anew: the versions are those of the lock, and so are the digests."""
        packages, rest = [], []
        for pin in self.wants.pinned:
            if not pin.wheels:
                rest.append(pin)
                continue
            origin = best_wheel(list(pin.wheels), self.python.target)
            if origin is None:
                raise no_wheel(NoWheel(f"{pin.name}=={pin.version}", [_last(one) for one in pin.wheels]), self.python)
            packages.append(Package(name=pin.name, version=pin.version, sha256=pin.wheels[origin], origin=origin))
        by = self.ask.names[0]
        if rest:
            wish = Wish(wanted=tuple(_line(pin).plain for pin in rest), places=self.places, alone=True)
            looked_up = resolve(self.shell, self.python, wish, with_uv=self.ask.with_uv)
            packages += _with_digests_of(rest, looked_up.packages, by)
            by = f"{by}, {looked_up.by}"
        return Resolved(packages=tuple(packages), by=by)

    # ── a wheelhouse ─────────────────────────────────────────────────────────────────────────────────────────────────

    def _with_more(self, problem: Unresolved) -> Resolved:
        if self.ask.relax:
            self._relax()
        for _ in range(_ROUNDS):
            lacking = self._lacking()
            if lacking and not self.ask.download:
                raise self._lack_error(lacking)
            try:
                return self._tried() if not lacking else self._fetched(lacking)
            except Unresolved as again:
                problem = again
            if (
                self.ask.download
                and problem.trouble.kind in ("missing", "version", "wheel")
                and problem.trouble.package
            ):
                self._fetch(requirement(problem.trouble.package))
            elif self.ask.relax and any(one.pin for one in (*self.wanted, *self.bound)):
                self._relax_all()
            else:
                raise problem
        raise problem

    def _stock(self) -> Stock:
        names = [one.name for one in (*self.wanted, *self.bound)]
        return stock_of(self.places.find_links, self.python.target, names)

    def _lacking(self) -> list[Lack]:
        """Of what is wanted by name. What that needs in turn, the resolver tells."""
        named = {f"{one.name}{one.bound}": one for one in (*self.bound, *self.wanted) if not one.mark}
        found = lacks(self._stock(), [named[text] for text in sorted(named)])
        return list({lack.wanted.name: lack for lack in found}.values())

    def _lack_error(self, lacking: Sequence[Lack]) -> Lacking:
        one = lacking[0].wanted.name if len(lacking) == 1 else f"{len(lacking)} of the packages that are wanted"
        hints = ["`voy env lock --download` fetches what is pure Python"]
        if any(lack.nearest for lack in lacking):
            hints.append("`--relax` takes the versions that there are")
        facts = [str(lack) for lack in lacking]
        what = f"the wheelhouse of {self.ask.title} lacks {one}"
        return Lacking(what, facts=facts, hint="; ".join(hints), wanted=[lack.wanted for lack in lacking])

    def _relax(self) -> None:
        """What is there in another version is taken in that one."""
        stock = self._stock()
        self.wanted = [_loosened(one) if one.pin and not stock.has(one) else one for one in self.wanted]
        self.bound = [one for one in self.bound if stock.has(one)]

    def _relax_all(self) -> None:
        self.wanted = [_loosened(one) if one.pin else one for one in self.wanted]
        self.bound = []

    def _fetched(self, lacking: Sequence[Lack]) -> Resolved:
        for lack in lacking:
            self._fetch(lack.wanted)
        return self._tried()

    def _fetch(self, one: Requirement) -> None:
        """Into the project's folder of wheels, so that it travels along. Only what any machine can use."""
        index = Places(index=self.places.index, more=self.places.more)
        bound = next((each for each in (*self.wanted, *self.bound) if each.name == one.name), one)
        found = resolve(self.shell, self.python, Wish(wanted=(bound.plain,), places=index, alone=True))
        package = found.packages[0]
        if package.file in self.fetched:
            raise SpecError(f"{package} was fetched, and is still not what is wanted", hint="name its version")
        if not package.file.endswith("-none-any.whl"):
            raise self._not_pure(package)
        folder = self.ask.root / (self.ask.wheels or _USUAL_WHEELS)
        fetch(package, folder / package.file, Keys(lambda: self.places.indexes, self.shell.variables))
        self.fetched.append(package.file)
        self.tell(f"fetched {package.file} into {folder.name}")
        if str(folder) not in self.places.find_links:
            self.places = replace(self.places, find_links=(str(folder), *self.places.find_links))

    def _not_pure(self, package: Package) -> SpecError:
        return SpecError(
            f"{package} is not pure Python, so a wheel from elsewhere is not taken to {self.ask.title}",
            facts=[package.file],
            hint="ask for another version (`--relax`), name the module that brings it, or ask the site's support",
        )


_OF_MODULES = ("PYTHONPATH", "EBPYTHONPREFIXES")


def _line(pin: Pinned) -> Requirement:
    return requirement(f"{pin.name}=={pin.version}")


def _loosened(one: Requirement) -> Requirement:
    """The same package in any version."""
    mark = f" ; {one.mark}" if one.mark else ""
    return requirement(re.split(r"[<>=!~;\s]", one.text, maxsplit=1)[0] + mark, one.file, one.line)


def _last(origin: str) -> str:
    return origin.rpartition("/")[2]


def _with_digests_of(pins: Iterable[Pinned], packages: Sequence[Package], name: str) -> list[Package]:
    """What the index has must be what the other tool has locked."""
    digests = {pin.name: pin.digests for pin in pins}
    for package in packages:
        if digests[package.name] and package.sha256 not in digests[package.name]:
            raise RunError(
                f"{package.file} is not a file that {name} knows",
                facts=[f"it has sha256 {package.sha256}", f"{name} has {len(digests[package.name])} others"],
                hint=f"make {name} anew; if it is right, something between here and the index is not",
            )
    return list(packages)


def _check_digests(wants: Wants, packages: Sequence[Package]) -> None:
    """Those that stand in a requirements file."""
    found = {package.name: package for package in packages}
    for one in (*wants.wanted, *wants.constraints):
        package = found.get(one.name)
        if package and one.digests and package.sha256 not in one.digests:
            raise SpecError(
                f"{package.file} is not a file that {one.file} knows",
                facts=[f"{_place(one)}: {one.plain} has other digests", f"it has sha256 {package.sha256}"],
                hint="write its digest there if it is right; if not, something between here and the index is not",
            )


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


def _direct(wants: Wants, packages: Sequence[Package]) -> tuple[str, ...]:
    """Those that were asked for and are there: a mark may have left some out."""
    asked = {one.name for one in wants.wanted} | {pin.name for pin in wants.pinned if pin.direct}
    return tuple(sorted(asked & {package.name for package in packages}))


def _changes(wanted: Iterable[Requirement], packages: Sequence[Package]) -> Iterable[Change]:
    taken = {package.name: package.version for package in packages}
    for one in sorted({each.name: each for each in wanted if each.pin}.values(), key=lambda each: each.name):
        now = taken.get(one.name, "")
        if now and public(now) != public(one.pin):
            yield Change(name=one.name, was=one.pin, now=now)
