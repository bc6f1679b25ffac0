"""uv and pip as text: what they are told, and what their answers mean. Nothing is run here."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from voyageur.env.lock import Package
from voyageur.env.wheel import Target, Wheel, plain_name, wheel_from


class Places(Struct, frozen=True, kw_only=True):
    """Where wheels are looked for. An empty `index` is the tool's own, which is PyPI."""

    no_index: bool = False
    find_links: tuple[str, ...] = ()
    index: str = ""
    more: tuple[str, ...] = ()
    pre: bool = False
    constraints: tuple[str, ...] = ()

    def words(self) -> list[str]:
        words = ["--no-index"] if self.no_index else []
        for folder in self.find_links:
            words += ["--find-links", folder]
        return words

    @property
    def indexes(self) -> tuple[str, ...]:
        return () if self.no_index else tuple(filter(None, (self.index, *self.more)))

    def variables(self, tool: str) -> dict[str, str]:
        """Indexes may have passwords in their addresses, and command lines are seen by everybody on a machine."""
        if self.no_index:
            return {}
        first, others = ("UV_DEFAULT_INDEX", "UV_INDEX") if tool == "uv" else ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL")
        found = {first: self.index, others: " ".join(self.more)}
        return {name: value for name, value in found.items() if value}


def places_from(settings: str) -> Places:
    """`pip config list`: what files and variables tell pip, the strongest last."""
    told: dict[str, str] = {}
    for line in settings.splitlines():
        match = re.fullmatch(r"(global|install|download|:env:)\.([\w-]+)='(.*)'", line.strip())
        if match:
            told[match[2]] = _unquoted(match[3])
    return Places(
        no_index=told.get("no-index", "").lower() in ("1", "true", "yes", "on"),
        find_links=_several(told, "find-links"),
        index=told.get("index-url", ""),
        more=_several(told, "extra-index-url"),
        pre=told.get("pre", "").lower() in ("1", "true", "yes", "on"),
        constraints=_several(told, "constraint"),
    )


def _unquoted(text: str) -> str:
    """pip shows values as Python writes texts."""
    return text.replace("\\n", " ").replace("\\'", "'")


def _several(told: dict[str, str], name: str) -> tuple[str, ...]:
    return tuple(told.get(name, "").split())


def with_options(places: Places, options: Sequence[str]) -> Places:
    """What a requirements file says of it, laid over what the machine says."""
    no_index, index, pre = places.no_index, places.index, places.pre
    links, more = list(places.find_links), list(places.more)
    words = iter(options)
    for word in words:
        if word == "--no-index":
            no_index = True
        elif word == "--pre":
            pre = True
        elif word == "--index-url":
            index = next(words, "")
        elif word == "--find-links":
            links.append(next(words, ""))
        elif word == "--extra-index-url":
            more.append(next(words, ""))
    return Places(
        no_index=no_index,
        find_links=tuple(dict.fromkeys(filter(None, links))),
        index=index,
        more=tuple(dict.fromkeys(filter(None, more))),
        pre=pre,
        constraints=places.constraints,
    )


# ── what they are told ───────────────────────────────────────────────────────────────────────────────────────────────


def uv_resolve_argv(
    uv: str, python: str, wanted: str, constraints: str, places: Places, cache: str, alone: bool = False
) -> list[str]:
    """`alone`: only what is named, and nothing that it asks for."""
    argv = [uv, "pip", "compile", "--format", "pylock.toml", "--quiet", "--no-header", "--no-annotate", "--no-config"]
    argv += ["--no-python-downloads", "--python", python, "--only-binary", ":all:", "--generate-hashes"]
    argv += ["--index-strategy", "unsafe-best-match", "--cache-dir", cache, "--constraints", constraints]
    argv += ["--prerelease", "allow"] if places.pre else []
    argv += ["--no-deps"] if alone else []
    return [*argv, *places.words(), wanted]


def pip_resolve_argv(
    pip: Sequence[str], wanted: str, constraints: str, report: str, places: Places, cache: str, alone: bool = False
) -> list[str]:
    argv = [*pip, "install", "--dry-run", "--ignore-installed", "--report", report, "--only-binary", ":all:"]
    argv += ["--disable-pip-version-check", "--no-input", "--progress-bar", "off", "--cache-dir", cache]
    argv += ["--pre"] if places.pre else []
    argv += ["--no-deps"] if alone else []
    return [*argv, *places.words(), "--constraint", constraints, "--requirement", wanted]


def uv_environment_argv(uv: str, python: str, folder: str, cache: str) -> list[str]:
    argv = [uv, "venv", "--quiet", "--relocatable", "--no-project", "--no-config", "--no-python-downloads"]
    return [*argv, "--cache-dir", cache, "--python", python, folder]


def uv_install_argv(uv: str, python: str, lock: str, wheels: str, cache: str) -> list[str]:
    argv = [uv, "pip", "install", "--quiet", "--python", python, "--no-config", "--offline", "--no-index"]
    argv += ["--find-links", wheels, "--no-deps", "--require-hashes", "--only-binary", ":all:", "--link-mode", "copy"]
    return [*argv, "--cache-dir", cache, "--requirements", lock]


def pip_install_argv(pip: Sequence[str], lock: str, wheels: str) -> list[str]:
    argv = [*pip, "install", "--no-index", "--find-links", wheels, "--no-deps", "--require-hashes"]
    argv += ["--only-binary", ":all:", "--no-compile", "--no-cache-dir", "--disable-pip-version-check", "--no-input"]
    return [*argv, "--no-warn-script-location", "--progress-bar", "off", "--requirement", lock]


# ── what they answer ─────────────────────────────────────────────────────────────────────────────────────────────────


class NoWheel(Exception):
    """A package without a file for this Python and machine; those that there are."""

    def __init__(self, package: str, files: Sequence[str]) -> None:
        super().__init__(package)
        self.package = package
        self.files = tuple(files)


def packages_from_pylock(text: str, target: Target) -> tuple[Package, ...]:
    """Of PEP 751, as uv writes it: of each package the file that suits best. Raises NoWheel."""
    return tuple(_best(one, target) for one in tomllib.loads(text).get("packages", ()))


def _best(one: dict[str, Any], target: Target) -> Package:
    found = {str(each.get("url") or each.get("path")): each.get("hashes", {}) for each in one.get("wheels", ())}
    origin = best_wheel(list(found), target)
    name, version = plain_name(str(one["name"])), str(one.get("version", ""))
    if origin is None:
        raise NoWheel(f"{name}=={version}", [file.rpartition("/")[2] for file in found])
    return Package(name=name, version=version, sha256=found[origin].get("sha256", ""), origin=_path(origin))


def best_wheel(origins: Sequence[str], target: Target) -> str | None:
    """Of several files of one version the one that suits best."""
    known = [(origin, wheel_from(_file(origin))) for origin in origins]
    ranked = [(rank, origin) for origin, wheel in known if wheel and (rank := _rank(wheel, target)) is not None]
    return min(ranked)[1] if ranked else None


def _rank(wheel: Wheel, target: Target) -> int | None:
    return wheel.rank(target)


def packages_from_report(text: str) -> tuple[Package, ...]:
    """Of pip's `--report`. Raises NoWheel for what is no wheel."""
    return tuple(_reported(one) for one in json.loads(text).get("install", ()))


def _reported(one: dict[str, Any]) -> Package:
    name, version = plain_name(str(one["metadata"]["name"])), str(one["metadata"]["version"])
    info = one.get("download_info", {})
    digest = info.get("archive_info", {}).get("hashes", {}).get("sha256", "")
    origin = str(info.get("url", ""))
    if not _file(origin).endswith(".whl"):
        raise NoWheel(f"{name}=={version}", [_file(origin)])
    return Package(name=name, version=version, sha256=digest, origin=_path(origin))


def _path(origin: str) -> str:
    """Without the names and passwords that a private index may have in its address."""
    if origin.startswith("file://"):
        from urllib.parse import unquote

        return unquote(origin.removeprefix("file://"))
    return without_secrets(origin.partition("#")[0])


def without_secrets(address: str) -> str:
    return re.sub(r"//[^/@]*@", "//", address)


def _file(origin: str) -> str:
    return origin.partition("#")[0].rpartition("/")[2].replace("%2B", "+").replace("%2b", "+")


class Trouble(Struct, frozen=True, kw_only=True):
    """Why nothing was found: `kind` is missing, version, wheel, conflict, network or other."""

    kind: str
    package: str = ""
    facts: tuple[str, ...] = ()


_NETWORK = re.compile(
    r"error sending request|dns error|Name or service not known|Temporary failure in name resolution|Connection refused"
    r"|NewConnectionError|ConnectTimeout|ReadTimeout|network was disabled|Network is unreachable|timed out|ProxyError"
)
_UV = (
    ("wheel", re.compile(r"([\w.-]+)(==\S+)? has no (?:wheels with a matching|usable wheels|wheels)")),
    ("conflict", re.compile(r"all versions of ([\w.-]+) and all versions of [\w.-]+ are incompatible")),
    ("missing", re.compile(r"([\w.-]+) was not found in")),
    ("version", re.compile(r"there (?:is|are) no versions? of ([\w.-]+)(\S*)")),
    ("version", re.compile(r"only [^,]* (?:is|are) available")),
    ("conflict", re.compile(r"you require ([\w.-]+?)[=<>!~]\S* and (?:you require )?[\w.-]+?[=<>!~]")),
    ("conflict", re.compile(r"are incompatible|depends? on .* unsatisfiable")),
)


def trouble_of_uv(errors: str) -> Trouble:
    text = " ".join(errors.split())
    facts = tuple(_sentences(errors))
    if _NETWORK.search(text):
        return Trouble(kind="network", package=_first(r"([\w.-]+) was not found in the cache|/simple/([\w.-]+)/", text))
    for kind, pattern in _UV:
        if match := pattern.search(text):
            name = match[1] if match.groups() and match[1] else ""
            bound = match[2] if pattern.groups > 1 and match[2] else ""
            return Trouble(kind=kind, package=f"{name}{bound}".rstrip(",.)"), facts=facts)
    return Trouble(kind="other", facts=facts)


def _sentences(errors: str) -> Iterator[str]:
    for line in " ".join(errors.split()).replace("hint: ", "\n").replace("cause: ", "\n").splitlines():
        if line.strip() and not line.startswith("error: No solution found"):
            yield line.strip()


def _first(pattern: str, text: str) -> str:
    match = re.search(pattern, text)
    return next(filter(None, match.groups()), "") if match else ""


def trouble_of_pip(answer: str) -> Trouble:
    """It says the same of a package that does not exist and of one that has no wheel for this machine."""
    if match := re.search(
        r"Could not find a version that satisfies the requirement ([^\s(]+).*\(from versions: (.*)\)", answer
    ):
        if _NETWORK.search(answer):
            return Trouble(kind="network", package=_named(match[1]))
        if match[2] == "none":
            return Trouble(kind="missing", package=match[1])
        return Trouble(kind="version", package=match[1], facts=(f"there are {match[2]}",))
    if "ResolutionImpossible" in answer or "conflicting dependencies" in answer:
        lines = [line.strip() for line in answer.splitlines()]
        return Trouble(
            kind="conflict", facts=tuple(line for line in lines if " depends on " in line or "requested " in line)
        )
    if _NETWORK.search(answer):
        return Trouble(kind="network")
    facts = [line.strip() for line in answer.splitlines() if line.startswith("ERROR")] or answer.strip().splitlines()[
        -3:
    ]
    return Trouble(kind="other", facts=tuple(facts))


def _named(text: str) -> str:
    return re.split(r"[\[<>=!~;\s]", text, maxsplit=1)[0]
