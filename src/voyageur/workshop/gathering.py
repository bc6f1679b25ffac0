"""The files that a lock names, found where it says, and compared with their digests before anything is installed."""

from __future__ import annotations

import hashlib
import os
import secrets
import ssl
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple
from urllib.response import addinfourl
from zipfile import BadZipFile, ZipFile

from msgspec import Struct

from voyageur.env.lock import Package
from voyageur.env.wheel import Target, wheel_from, why_not
from voyageur.errors import RunError, SpecError, VoyageurError
from voyageur.units import Size
from voyageur.workshop.keys import header_for

_AT_ONCE = 4
_PATIENCE = 60.0
_BLOCK = 1 << 20
_WANTS_A_KEY = (401, 403)
_CERTIFICATES = ("PIP_CERT", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE")


class Volume(Struct, frozen=True, kw_only=True):
    """What comes out of wheels."""

    files: int
    size: Size


class Keys(NamedTuple):
    """Addresses of indexes with names and passwords, looked up when a host wants some; and where ~/.netrc is."""

    indexes: Callable[[], Iterable[str]]
    variables: Mapping[str, str]


NO_KEYS = Keys(tuple, {})


class Shelf(Struct, frozen=True, kw_only=True):
    """Where wheels may lie. `cache` keeps what was downloaded, as whole files; `folders` are looked into by name."""

    root: Path
    cache: Path
    folders: tuple[str, ...] = ()
    keys: Keys = NO_KEYS


def gather(packages: Sequence[Package], target: Target, shelf: Shelf) -> dict[str, Path]:
    """Where each file is, by its name. Raises when one is not there, is not what the lock says, or works not here."""
    for package in packages:
        _check_target(package, target)
    with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
        found = list(pool.map(lambda package: _found(package, shelf), packages))
    return {package.file: path for package, path in zip(packages, found, strict=True)}


def volume_of(files: Mapping[str, Path]) -> Volume:
    """Counted before anything is unpacked."""
    entries = size = 0
    for name, path in files.items():
        try:
            with ZipFile(path) as archive:
                infos = archive.infolist()
        except (BadZipFile, OSError) as problem:
            raise RunError(f"{name} cannot be read", facts=[str(problem), str(path)], hint="fetch it again") from None
        entries += len(infos)
        size += sum(info.file_size for info in infos)
    return Volume(files=entries, size=Size(size))


def _check_target(package: Package, target: Target) -> None:
    wheel = wheel_from(package.file)
    reason = why_not(wheel, target) if wheel else "it is no wheel"
    if reason:
        hint = "`voy env lock` looks for one that works here; `env.python` names another Python"
        raise SpecError(f"{package.file} does not work here", facts=[reason], hint=hint)


def _found(package: Package, shelf: Shelf) -> Path:
    is_remote = "://" in package.origin
    own = [] if is_remote else [shelf.root / package.origin]
    beside = [Path(folder) / package.file for folder in shelf.folders]
    cached = shelf.cache / package.file
    wrong: list[str] = []
    for path in [*own, cached, *beside]:
        if not path.is_file():
            continue
        if (digest := digest_of(path)) == package.sha256:
            return path
        wrong.append(f"{path} has sha256 {digest}")
        if path == cached:
            path.unlink(missing_ok=True)
    if is_remote:
        return fetch(package, cached, shelf.keys)
    if wrong:
        raise _not_the_same(package, wrong)
    hint = "`voy env lock` finds what there is here"
    raise SpecError(f"the wheel of {package} is not there", facts=[f"the lock says {package.origin}"], hint=hint)


def _not_the_same(package: Package, facts: Sequence[str]) -> RunError:
    return RunError(
        f"{package.file} is not the file that was locked",
        facts=[f"the lock says sha256 {package.sha256}", *facts],
        hint=f"put the right file there; or, if the new one of {package.name} is right, `voy env lock` again",
    )


def digest_of(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# ── the network ──────────────────────────────────────────────────────────────────────────────────────────────────────


def fetch(package: Package, cached: Path, keys: Keys = NO_KEYS) -> Path:
    """It has its name only when it is whole, and what the package says."""
    cached.parent.mkdir(parents=True, exist_ok=True)
    part = cached.with_name(f".{cached.name}.{secrets.token_hex(4)}")
    try:
        digest = _copied(package, part, keys)
        if digest != package.sha256:
            raise _not_the_same(package, [f"{package.origin} has sha256 {digest}"])
        os.rename(part, cached)
    finally:
        part.unlink(missing_ok=True)
    return cached


def _copied(package: Package, path: Path, keys: Keys) -> str:
    digest = hashlib.sha256()
    try:
        with _opened(_address(package.origin), keys) as answer, open(path, "wb") as file:
            while block := answer.read(_BLOCK):
                file.write(block)
                digest.update(block)
    except OSError as problem:  # URLError is one, and so is a full disk
        raise _not_fetched(package, problem, path) from None
    return digest.hexdigest()


def _opened(address: str, keys: Keys) -> addinfourl:
    try:
        return open_url(address)
    except urllib.error.HTTPError as problem:
        header = header_for(address, keys.indexes(), keys.variables) if problem.code in _WANTS_A_KEY else None
        if header is None:
            raise
    return open_url(address, header)


def _address(origin: str) -> str:
    return origin if "://" in origin else f"file://{urllib.request.pathname2url(origin)}"


def open_url(address: str, authorization: str = "") -> addinfourl:
    if not address.startswith(("https://", "http://", "file://")):
        raise urllib.error.URLError(f"{address} is no address of a file")
    certificates = next((os.environ[name] for name in _CERTIFICATES if os.environ.get(name)), None)
    context = ssl.create_default_context(cafile=certificates) if certificates else None
    request = urllib.request.Request(address)  # noqa: S310  # its kind is looked at above
    if authorization:  # for this host alone: an index may lead on to another one
        request.add_unredirected_header("Authorization", authorization)
    answer: addinfourl = urllib.request.urlopen(request, timeout=_PATIENCE, context=context)  # noqa: S310  # its kind is looked at above
    return answer


def _not_fetched(package: Package, problem: OSError, path: Path) -> VoyageurError:
    if isinstance(problem, urllib.error.HTTPError):
        facts = [f"{package.origin}: {problem.code} {problem.reason}"]
        if problem.code in _WANTS_A_KEY:
            hint = "its name and password stand in ~/.netrc, or in the address that pip has (`pip config list`)"
            return RunError(f"{package.file} is given only to those who have a key", facts=facts, hint=hint)
        return RunError(f"{package.file} is not there any more", facts=facts, hint="`voy env lock` again")
    if isinstance(problem, urllib.error.URLError) or problem.errno is None or isinstance(problem, TimeoutError):
        reason = getattr(problem, "reason", None) or problem
        hint = "try again where there is a network: `voy env build` on a login node fetches what a job needs"
        return RunError(f"{package} could not be fetched", facts=[f"{package.origin}: {reason}"], hint=hint)
    facts = [f"{path.parent}: {problem.strerror}"]
    return RunError(f"{package.file} could not be written", facts=facts, hint="make room there; `voy quota` tells")
