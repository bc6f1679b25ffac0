"""Which cluster is this? Told by what the machine says of itself, before any of its commands is asked."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from importlib.resources.abc import Traversable
from pathlib import Path

import msgspec
from msgspec import Struct, field

from voyageur.site.facts import Fingerprint
from voyageur.site.profile import built_in, can_list, is_template


class Signs(Struct, frozen=True, kw_only=True):
    """What a machine says of itself. An empty text is not known."""

    cluster: str = ""
    host: str = ""
    domain: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)


def likeness(fingerprint: Fingerprint, signs: Signs) -> int:
    """0: not this cluster. The name that its Slurm has is the strongest sign, and another name speaks against all."""
    if fingerprint.cluster and signs.cluster:
        return 3 if signs.cluster in fingerprint.cluster else 0
    if any(signs.variables.get(name) == value for name, value in fingerprint.variables.items()):
        return 2
    return int(_matches(signs.domain, fingerprint.domains) or _matches(signs.host, fingerprint.hosts))


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return bool(name) and any(fnmatch(name, pattern) for pattern in patterns)


def detect(signs: Signs, own: Path | None = None) -> str | None:
    """The profile's name. A user's own profiles are asked first; several that fit equally well are as good as none."""
    places: list[Traversable] = [*([own] if own and can_list(own) else []), built_in()]
    for folder in places:
        found = {name: likeness(fingerprint, signs) for name, fingerprint in fingerprints(folder)}
        best = [name for name, like in found.items() if like and like == max(found.values())]
        if len(best) == 1:
            return best[0]
    return None


def fingerprints(folder: Traversable) -> Iterator[tuple[str, Fingerprint]]:
    for file in folder.iterdir():
        name = file.name.removesuffix(".toml")
        if name != file.name and not is_template(name) and (table := _fingerprint_in(file)):
            yield name, table


def _fingerprint_in(file: Traversable) -> Fingerprint | None:
    """Only that table is parsed: all of all profiles would take a tenth of a second, each time somebody types `voy`."""
    try:
        if not file.is_file():  # a pipe would keep every command waiting
            return None
        text = file.read_text(encoding="utf-8")
        section = re.search(r"^\[fingerprint\]$.*?(?=^\[|\Z)", text, re.MULTILINE | re.DOTALL)
        table = tomllib.loads(section[0])["fingerprint"] if section else None
        return msgspec.convert(table, Fingerprint) if table else None
    except (OSError, ValueError):  # whoever chooses this profile is told what is wrong with it
        return None


# ── signs of this machine ────────────────────────────────────────────────────────────────────────────────────────────


def cluster_in(slurm_conf: str) -> str:
    """`ClusterName` as it stands in slurm.conf: no command of Slurm's has to be started for it."""
    found = re.search(r"^\s*ClusterName\s*=\s*(\S+)", slurm_conf, re.MULTILINE | re.IGNORECASE)
    return found[1] if found else ""


def domain_in(resolv_conf: str, hosts: str, host: str) -> str:
    """The machine's domain, without a question to a name server, which may take seconds."""
    own = re.search(rf"\b{re.escape(host.split('.')[0])}\.([\w.-]+)", hosts) if host else None
    if "." in host or own:
        return host.partition(".")[2] or (own[1] if own else "")
    found = re.search(r"^\s*(?:domain|search)\s+(\S+)", resolv_conf, re.MULTILINE)
    return found[1] if found else ""
