"""From what is wanted to packages: by uv where it is, by pip else. Their answers become errors that name a package."""

from __future__ import annotations

import os
from collections.abc import Iterable

from msgspec import Struct

from voyageur.env.lock import Package
from voyageur.env.tools import (
    NoWheel,
    Places,
    Trouble,
    packages_from_pylock,
    packages_from_report,
    pip_resolve_argv,
    trouble_of_pip,
    trouble_of_uv,
    uv_resolve_argv,
    without_secrets,
)
from voyageur.env.wheel import plain_name, wheel_from, why_not
from voyageur.errors import RunError, SpecError, VoyageurError
from voyageur.workshop.installing import lay_out
from voyageur.workshop.python import Python, find_pip, find_uv
from voyageur.workshop.room import disk_is_full, is_about_a_full_disk
from voyageur.workshop.shell import Answer, Shell

_PATIENCE = 900.0


class Wish(Struct, frozen=True, kw_only=True):
    """`alone`: the packages are all there are to be; nothing that they ask for is added."""

    wanted: tuple[str, ...]
    constraints: tuple[str, ...] = ()
    places: Places = Places()
    alone: bool = False


class Resolved(Struct, frozen=True, kw_only=True):
    packages: tuple[Package, ...]
    by: str


class Unresolved(SpecError):
    def __init__(self, trouble: Trouble, what: str, facts: Iterable[str], hint: str) -> None:
        super().__init__(what, facts=facts, hint=hint)
        self.trouble = trouble


def resolve(
    shell: Shell, python: Python, wish: Wish, *, with_uv: bool = True, beside_modules: bool = False
) -> Resolved:
    """`beside_modules`: what they bring need not be found; only pip sees that. Raises Unresolved."""
    wanted, constraints = shell.tmp / "wanted.txt", shell.tmp / "constraints.txt"
    wanted.write_text("".join(f"{line}\n" for line in wish.wanted), encoding="utf-8")
    constraints.write_text("".join(f"{line}\n" for line in wish.constraints), encoding="utf-8")
    uv = find_uv(shell) if with_uv and not beside_modules else None
    try:
        found = _by_uv(shell, python, wish, uv) if uv else _by_pip(shell, python, wish, beside_modules)
    except NoWheel as problem:
        raise no_wheel(problem, python) from None
    return found


def _by_uv(shell: Shell, python: Python, wish: Wish, uv: str) -> Resolved:
    tmp = shell.tmp
    argv = uv_resolve_argv(
        uv,
        python.base,
        str(tmp / "wanted.txt"),
        str(tmp / "constraints.txt"),
        wish.places,
        str(tmp / "cache"),
        wish.alone,
    )
    answer = shell.having(wish.places.variables("uv")).run(argv, patience=_PATIENCE)
    if not answer.ok and _is_too_old(answer.errors):
        return _by_pip(shell, python, wish)
    if not answer.ok:
        raise _why(answer, trouble_of_uv(answer.errors), wish, python)
    version = shell.run([uv, "--version"], patience=_PATIENCE).output.split()
    return Resolved(packages=packages_from_pylock(answer.output, python.target), by=" ".join(version[:2]) or "uv")


def _is_too_old(errors: str) -> bool:
    """pylock.toml came with 0.6.15."""
    return "unexpected argument" in errors or "invalid value 'pylock.toml'" in errors


def _by_pip(shell: Shell, python: Python, wish: Wish, beside_modules: bool = False) -> Resolved:
    tmp, report = shell.tmp, shell.tmp / "report.json"
    pip = find_pip(shell, python)
    if pip is None:
        raise _no_tool(python)
    empty = tmp / "empty"
    if not empty.exists():
        lay_out(empty, python)
    at = [*pip, "--python", str(empty / "bin" / "python")]
    argv = pip_resolve_argv(
        at,
        str(tmp / "wanted.txt"),
        str(tmp / "constraints.txt"),
        str(report),
        wish.places,
        str(tmp / "cache"),
        wish.alone,
    )
    if beside_modules:
        argv.remove("--ignore-installed")
    # Its own files would add places to those that are told.
    own = {"PIP_CONFIG_FILE": os.devnull, "PIP_FIND_LINKS": "", "PIP_NO_INDEX": "", **wish.places.variables("pip")}
    answer = shell.having(own).run(argv, patience=_PATIENCE)
    if not answer.ok:
        raise _why(answer, trouble_of_pip(answer.all), wish, python)
    return Resolved(packages=packages_from_report(report.read_text("utf-8")), by=f"pip {python.pip}".strip())


def _no_tool(python: Python) -> RunError:
    return RunError(
        "there is neither uv nor pip here to find packages with",
        facts=[f"{python.base} has {'pip ' + python.pip if python.pip else 'no pip'}; 22.3 or newer is wanted"],
        hint="`python -m pip install uv` beside voyageur brings one",
    )


def _why(answer: Answer, trouble: Trouble, wish: Wish, python: Python) -> VoyageurError:
    if is_about_a_full_disk(answer.all):
        return disk_is_full(answer.all.strip().splitlines()[-1:])
    return unresolved(trouble, wish, python)


# ── why not ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def unresolved(trouble: Trouble, wish: Wish, python: Python) -> Unresolved:
    trouble = _looked_up(trouble, wish, python)
    what, hint = _words_for(trouble, python)
    facts = [*trouble.facts[:6]]
    if trouble.kind in ("missing", "version"):
        facts += _named_by(trouble.package, wish)
    if trouble.kind in ("missing", "version", "network"):
        facts.append(f"looked in {_where(wish.places)}")
    return Unresolved(trouble, what, facts, hint)


def _words_for(trouble: Trouble, python: Python) -> tuple[str, str]:
    """What happened, and what to do."""
    package = trouble.package
    name = plain_name(_head(package)) if package else "NAME"
    own = f'`pip wheel --no-deps {name} -w wheels` makes one, and `env.wheels = "wheels"` takes it along'
    if trouble.kind == "network":
        what = f"the package index could not be reached{f' for {name}' if package else ''}"
        return what, "try again where there is a network, or put the wheels into a folder and name it in `env.wheels`"
    if trouble.kind == "missing":
        return f"there is no package {package}", f"look how it is spelled; {own}"
    if trouble.kind == "version":
        return f"no version of {package or 'a package'} will do", "change the version that is asked for"
    if trouble.kind == "wheel":
        what = f"{name} has no wheel for Python {python.target.python} on {python.target}"
        return what, f"ask for another version, or for another Python with `env.python`; {own}"
    if trouble.kind == "conflict":
        return "these packages do not go together", "loosen one of the versions that are asked for"
    return "the packages could not be found out", "mend what is named, and try again"


def no_wheel(problem: NoWheel, python: Python) -> Unresolved:
    facts = [_why_not(file, python) for file in problem.files[:4]]
    trouble = Trouble(kind="wheel", package=problem.package, facts=tuple(facts))
    return unresolved(trouble, Wish(wanted=()), python)


def _why_not(file: str, python: Python) -> str:
    wheel = wheel_from(file)
    return f"{file}: {why_not(wheel, python.target)}" if wheel else f"{file} is no wheel"


def _where(places: Places) -> str:
    index = (
        [] if places.no_index else [without_secrets(one) for one in (places.index or "the package index", *places.more)]
    )
    return ", ".join([*places.find_links, *index]) or "nothing: no index, and no folder of wheels"


def _named_by(package: str, wish: Wish) -> list[str]:
    name = plain_name(package.partition("=")[0])
    return [] if any(plain_name(_head(line)) == name for line in wish.wanted) else ["another package asks for it"]


def _head(line: str) -> str:
    from voyageur.env.requirements import requirement

    return requirement(line).name


def _looked_up(trouble: Trouble, wish: Wish, python: Python) -> Trouble:
    """pip says of a wheel for another machine that there is no such package: the folders tell more."""
    from msgspec.structs import replace

    name = plain_name(_head(trouble.package)) if trouble.package else ""
    if trouble.kind not in ("missing", "wheel") or not name:
        return trouble
    files = sorted(file for folder in wish.places.find_links for file in _files_of(name, folder))
    reasons = tuple(_why_not(file, python) for file in files if not _fits(file, python))
    if files and len(reasons) == len(files):
        return replace(trouble, kind="wheel", facts=reasons[:4])
    if files and trouble.kind == "missing":
        return replace(trouble, kind="version", facts=(f"there are {', '.join(files[:6])}",))
    return trouble


def _fits(file: str, python: Python) -> bool:
    wheel = wheel_from(file)
    return wheel is not None and wheel.rank(python.target) is not None


def _files_of(name: str, folder: str) -> Iterable[str]:
    try:
        files = os.listdir(folder)
    except OSError:
        return
    for file in files:
        head = plain_name(
            file.removesuffix(".tar.gz").rpartition("-")[0] if file.endswith(".tar.gz") else file.partition("-")[0]
        )
        if head == name and file.endswith((".whl", ".tar.gz", ".zip")):
            yield file
