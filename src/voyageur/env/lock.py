"""A lock: every package by its version, its file and that file's digest. pip and uv read the same text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import msgspec
from msgspec import Struct

from voyageur.env.wheel import Target, plain_name

LINES = 1  # the version of this text's form
_ABOUT = re.compile(r"# ([a-z][a-z -]*): (.*)")
_PIN = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)==(\S+)")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


class LockError(ValueError):
    """Why a text is no lock; whoever read it names the file."""


class Source(Struct, frozen=True, kw_only=True):
    """A file that says what is wanted, and its digest when the lock was made."""

    name: str
    sha256: str


class Package(Struct, frozen=True, kw_only=True):
    """`origin`: where its file is, a URL or a path; one that is not absolute counts from the project."""

    name: str
    version: str
    sha256: str
    origin: str

    @property
    def file(self) -> str:
        return self.origin.rpartition("/")[2].replace("%2B", "+").replace("%2b", "+")

    def __str__(self) -> str:
        return f"{self.name}=={self.version}"


class Lock(Struct, frozen=True, kw_only=True):
    """`wanted` are the packages that were asked for; the others came with them. `site` is empty where any will do.

    One that is taken `as_is`, a virtual environment or a packed one of conda, has no packages with files, but `holds`
    some.
    """

    target: Target
    packages: tuple[Package, ...]
    sources: tuple[Source, ...]
    wanted: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    site: str = ""
    by: str = ""
    as_is: str = ""
    holds: tuple[str, ...] = ()


class InJob(Struct, frozen=True, kw_only=True):
    """A lock that each node makes its environment from. `folders` hold wheels of it; `online`: an index has others."""

    file: str
    python: str
    folders: tuple[str, ...] = ()
    online: bool = False


def in_job(lock: Lock, file: str) -> InJob:
    paths = [package.origin for package in lock.packages if "://" not in package.origin]
    return InJob(
        file=file,
        python=lock.target.python,
        folders=tuple(dict.fromkeys(path.rpartition("/")[0] or "." for path in paths)),
        online=len(paths) < len(lock.packages),
    )


def lock_name(site: str) -> str:
    return f"voyageur.{site}.lock" if site else "voyageur.lock"


def key_of(lock: Lock, form: str = "auto") -> str:
    """One name for everything that an environment is made from. Where the files came from is no part of it."""
    made_of: list[object] = [LINES, lock.target.python, lock.target.machine, lock.modules, form]
    made_of += sorted((package.name, package.version, package.sha256) for package in lock.packages)
    made_of += [lock.as_is, lock.holds, lock.sources] if lock.as_is else []
    import hashlib  # loads OpenSSL

    return hashlib.sha256(msgspec.json.encode(made_of)).hexdigest()[:24]


# ── as text ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def lock_text(lock: Lock) -> str:
    where = f" on {lock.site}" if lock.site else ""
    head = [
        f"# The packages of this project{where}, each with its file's digest. Written by `voy env lock`; commit it.",
        f"# pip and uv read it, too: pip install --no-deps --require-hashes -r {lock_name(lock.site)}",
        "#",
        *(f"# {name}: {value}" for name, value in _about(lock) if value),
        "",
    ]
    body = [line for package in sorted(lock.packages, key=lambda one: one.name) for line in _entry(package)]
    return "\n".join([*head, *body]) + "\n"


def _about(lock: Lock) -> Iterator[tuple[str, str]]:
    yield "voyageur lock", str(LINES)
    yield "site", lock.site
    yield "python", lock.target.python
    yield "platform", str(lock.target)
    yield "modules", " ".join(lock.modules)
    yield from (("made from", f"{source.name} sha256:{source.sha256}") for source in lock.sources)
    yield "wanted", " ".join(lock.wanted)
    yield "resolved by", lock.by
    yield "as it is", lock.as_is
    yield from (("holds", one) for one in lock.holds)


def _entry(package: Package) -> Iterator[str]:
    yield f"{package.name}=={package.version} \\"
    yield f"    --hash=sha256:{package.sha256}"
    yield f"    # {package.origin}"


def lock_from(text: str) -> Lock:
    """Raises LockError with the line that is not right."""
    lines = text.splitlines()
    about: dict[str, list[str]] = {}
    for line in lines:
        if match := _ABOUT.fullmatch(line):
            about.setdefault(match[1], []).append(match[2].strip())
    if about.get("voyageur lock") != [str(LINES)]:
        raise LockError("it does not say `# voyageur lock: 1`")
    return Lock(
        target=_target(about),
        packages=tuple(_packages(lines)),
        sources=tuple(_source(text) for text in about.get("made from", ())),
        wanted=_words(about, "wanted"),
        modules=_words(about, "modules"),
        site=_only(about, "site"),
        by=_only(about, "resolved by"),
        as_is=_only(about, "as it is"),
        holds=tuple(about.get("holds", ())),
    )


def _only(about: dict[str, list[str]], name: str) -> str:
    return about.get(name, [""])[0]


def _words(about: dict[str, list[str]], name: str) -> tuple[str, ...]:
    return tuple(_only(about, name).split())


def _target(about: dict[str, list[str]]) -> Target:
    _, _, platform = _only(about, "platform").partition("linux ")
    machine, _, libc = platform.partition(" ")
    python = _only(about, "python")
    if not machine or not re.fullmatch(r"3\.\d+", python):
        raise LockError("it does not say for which Python and platform it is")
    return Target(python=python, machine=machine, libc=libc)


def _source(text: str) -> Source:
    name, _, digest = text.rpartition(" sha256:")
    if not name or not re.fullmatch("[0-9a-f]{64}", digest):
        raise LockError(f"`made from: {text}` has no digest")
    return Source(name=name, sha256=digest)


def _packages(lines: Iterable[str]) -> Iterator[Package]:
    """Three lines each: the version, the digest, and where the file is."""
    rest = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    if len(rest) % 3:
        raise LockError("a package has three lines: its version, its hash, and where it is")
    for pin, digest, origin in zip(rest[::3], rest[1::3], rest[2::3], strict=True):
        found, proof = _PIN.fullmatch(pin.removesuffix("\\").strip()), _HASH.fullmatch(digest)
        if not found or not proof or not origin.startswith("# "):
            raise LockError(f"it has no package at `{pin}`")
        package = Package(name=plain_name(found[1]), version=found[2], sha256=proof[1], origin=origin[2:])
        if not package.file.endswith(".whl"):
            raise LockError(f"{pin} names no wheel")
        yield package
