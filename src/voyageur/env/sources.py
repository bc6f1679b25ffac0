"""What a project says of its packages, in whichever of the usual files, as one kind of wish."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from voyageur.env.conda import conda_from
from voyageur.env.lock import Source
from voyageur.env.pinned import MADE_FROM, PinError, Pinned, pins_of
from voyageur.env.pinned import NAMES as PINNED
from voyageur.env.requirements import (
    NoFile,
    Requirement,
    Requirements,
    requirement,
    requirements_from,
    requirements_in,
)
from voyageur.env.wheel import Target


class SourceError(ValueError):
    """Why a file cannot be used: `what` and a hint."""

    def __init__(self, what: str, hint: str) -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint


class Wants(Struct, frozen=True, kw_only=True):
    """What is wanted, together; `files` are those that were read, `python` what one of them says of it.

    `pinned` were locked by another tool. `as_is` is a virtual environment, or a packed one of conda, to be taken whole.
    """

    wanted: tuple[Requirement, ...] = ()
    constraints: tuple[Requirement, ...] = ()
    options: tuple[str, ...] = ()
    foreign: tuple[Requirement, ...] = ()
    files: tuple[str, ...] = ()
    pinned: tuple[Pinned, ...] = ()
    python: str = ""
    notes: tuple[str, ...] = ()
    as_is: str = ""

    def __add__(self, other: Wants) -> Wants:
        return Wants(
            wanted=self.wanted + other.wanted,
            constraints=self.constraints + other.constraints,
            options=self.options + other.options,
            foreign=self.foreign + other.foreign,
            files=tuple(dict.fromkeys(self.files + other.files)),
            pinned=self.pinned + other.pinned,
            python=self.python or other.python,
            notes=self.notes + other.notes,
            as_is=self.as_is or other.as_is,
        )


def kind_of(root: Path, name: str) -> str:
    """By its name, and for folders by what is in them."""
    last, path = Path(name).name, root / name
    if last in PINNED:
        return "pinned"
    if last in ("pyproject.toml", "Pipfile"):
        return last
    if (path / "pyvenv.cfg").is_file():
        return "virtualenv"
    if last.endswith((".tar.gz", ".tgz", ".tar", ".tar.zst", ".tar.bz2")):
        return "packed"
    return "conda" if last.endswith((".yml", ".yaml")) else "requirements"


def python_of(root: Path, names: Iterable[str]) -> str:
    """The version of Python that an environment.yml or a Pipfile asks for; empty where none does."""
    for name in names:
        kind = kind_of(root, name)
        if kind == "conda" and (python := conda_from(_text(root, name)).python):
            return python
        if kind == "Pipfile":
            return str(_toml(root, name).get("requires", {}).get("python_version", ""))
    return ""


def wants_of(root: Path, names: Iterable[str], target: Target, python: str) -> Wants:
    """`python` is its whole version. Raises SourceError, and NoFile."""
    total = Wants()
    for name in names:
        total += _read(root, name, target, python)
    if total.as_is and (total.wanted or total.pinned):
        raise SourceError(f"{total.as_is} is taken as it is, so nothing can be added to it", "name it alone")
    return total


def _read(root: Path, name: str, target: Target, python: str) -> Wants:
    kind = kind_of(root, name)
    if kind == "pinned":
        return Wants(pinned=_pins(root, name, target, python), files=_pin_files(root, name))
    if kind in ("virtualenv", "packed"):
        return Wants(as_is=name)
    if kind == "pyproject.toml":
        return _pyproject(root, name)
    if kind == "Pipfile":
        return _pipfile(root, name)
    if kind == "conda":
        return _conda(root, name)
    return _wants(requirements_from(root, [name]))


def _wants(found: Requirements) -> Wants:
    return Wants(
        wanted=found.wanted,
        constraints=found.constraints,
        options=found.options,
        foreign=found.foreign,
        files=found.files,
    )


def digests_of(root: Path, files: Iterable[str]) -> tuple[Source, ...]:
    """As they are now. One that is gone has none."""
    return tuple(Source(name=name, sha256=_digest(root / name)) for name in files)


def _digest(path: Path) -> str:
    try:
        if path.is_dir():
            return state_of(path)
        content = path.read_bytes()
    except OSError:
        return ""
    return hashlib.sha256(_of_packages(content) if path.name == "pyproject.toml" else content).hexdigest()


def _of_packages(content: bytes) -> bytes:
    """Of a pyproject.toml what it says of packages: it has settings of many tools, and may have ours."""
    try:
        table = tomllib.loads(content.decode("utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError):
        return content
    project, tool = table.get("project"), table.get("tool")
    project, tool = project if isinstance(project, dict) else {}, tool if isinstance(tool, dict) else {}
    said = [project.get("dependencies"), project.get("requires-python"), _poetrys(tool), tool.get("uv")]
    return json.dumps(said, sort_keys=True, default=str).encode("utf-8")


def _poetrys(tool: Mapping[str, Any]) -> Any:
    poetry = tool.get("poetry")
    return poetry.get("dependencies") if isinstance(poetry, dict) else None


def state_of(environment: Path) -> str:
    """Of a virtual environment: which packages it has, and since when. Quick, and good enough to see a change."""
    digest = hashlib.sha256()
    for info in sorted(environment.glob("lib/python3*/site-packages/*.dist-info")):
        digest.update(f"{info.name} {(info / 'RECORD').stat().st_mtime_ns}\n".encode())
    return digest.hexdigest()


def _pins(root: Path, name: str, target: Target, python: str) -> tuple[Pinned, ...]:
    try:
        return pins_of(root, name, target, python)
    except OSError as problem:
        raise NoFile(name, "env.requirements", problem.strerror or "it cannot be read") from None
    except PinError as problem:
        raise SourceError(f"{name} cannot be used: {problem}", f"make {name} anew, or name another file") from None


def _pin_files(root: Path, name: str) -> tuple[str, ...]:
    """With the file that the other tool makes its lock from: when that changes, both locks are old."""
    beside = MADE_FROM.get(Path(name).name)
    wish = str(Path(name).parent / beside) if beside else ""
    return (name, wish) if wish and (root / wish).is_file() else (name,)


# ── pyproject.toml, Pipfile, environment.yml ─────────────────────────────────────────────────────────────────────────


def _pyproject(root: Path, name: str) -> Wants:
    project = _toml(root, name).get("project")
    if not isinstance(project, dict):
        raise SourceError(f"{name} has no table [project]", "name the file that says which packages are wanted")
    return Wants(wanted=tuple(_listed(project.get("dependencies", []), name)), files=(name,))


def _listed(texts: Any, name: str) -> Iterator[Requirement]:
    for text in texts if isinstance(texts, list) else []:
        if isinstance(text, str) and text.strip():
            yield requirement(text, name)


def _pipfile(root: Path, name: str) -> Wants:
    found = [_of_pipfile(package, how, name) for package, how in _toml(root, name).get("packages", {}).items()]
    return Wants(
        wanted=tuple(one for one, is_foreign in found if not is_foreign),
        foreign=tuple(one for one, is_foreign in found if is_foreign),
        files=(name,),
        python=python_of(root, [name]),
    )


def _of_pipfile(package: str, how: Any, name: str) -> tuple[Requirement, bool]:
    if not isinstance(how, dict):
        return requirement(package + ("" if how == "*" else str(how)), name), False
    extras = f"[{','.join(how['extras'])}]" if how.get("extras") else ""
    version = "" if how.get("version", "*") == "*" else str(how["version"])
    mark = f"; {how['markers']}" if how.get("markers") else ""
    foreign = next((str(how[kind]) for kind in ("git", "path", "file") if kind in how), "")
    return requirement(f"{package}{extras}{version}{mark}" if not foreign else f"{package} @ {foreign}", name), bool(
        foreign
    )


def _conda(root: Path, name: str) -> Wants:
    found = conda_from(_text(root, name))
    if not found.lines and not found.left_out:
        raise SourceError(
            f"{name} has no dependencies that could be read", "name the file that says which packages are wanted"
        )
    left = ", ".join(found.left_out)
    own = Wants(
        files=(name,),
        python=found.python,
        notes=(f"not from PyPI, so a module must bring it if it is needed: {left}",) if left else (),
    )
    return own + _wants(requirements_in(root, [requirement(text, name, line) for text, line in found.lines]))


def _text(root: Path, name: str) -> str:
    try:
        return (root / name).read_text(encoding="utf-8", errors="replace")
    except OSError as problem:
        raise NoFile(name, "env.requirements", problem.strerror or "it cannot be read") from None


def _toml(root: Path, name: str) -> dict[str, Any]:
    try:
        return tomllib.loads(_text(root, name))
    except tomllib.TOMLDecodeError as problem:
        raise SourceError(f"{name} is no TOML: {problem}", "mend that line") from None
