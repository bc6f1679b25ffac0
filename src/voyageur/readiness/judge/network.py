"""What is fetched while the job runs: data, models, packages."""

from __future__ import annotations

import os
from collections.abc import Iterator

from voyageur.findings import Finding, Level
from voyageur.readiness.downloads import FAMILIES, host_of, is_address
from voyageur.readiness.judge.paths import place_of
from voyageur.readiness.model import Kind, Module, Sighting
from voyageur.readiness.programs import host as host_in
from voyageur.readiness.scene import EXISTS_WORDS, Scene, guard_words, quoted, short
from voyageur.rules.project import (
    CONDA_DISCOURAGED,
    DOWNLOADS_AT_RUN_TIME,
    INSTALLS_AT_RUN_TIME,
    PIP_WITHOUT_NO_INDEX,
    at,
)
from voyageur.site import Reach, Welcome

_NOBODY_KNOWS = "compute nodes of many clusters do not reach the internet, and nobody said whether those of this one do"


def level_of_network(scene: Scene, host: str) -> Level | None:
    """None where nodes reach it. A proxy lets a few hosts through, and only where its module is loaded."""
    if scene.site.engine == "local":
        return None
    network = scene.site.network
    if network.internet is Reach.OPEN:
        return None
    if network.internet is Reach.UNKNOWN:
        return Level.HINT
    if network.internet is Reach.NONE:
        return Level.ERROR
    allowed = any(host == each or host.endswith(f".{each}") for each in network.proxy_hosts)
    if allowed:
        loaded = network.proxy_module is None or network.proxy_module in scene.plan.modules.value
        return None if loaded else Level.WARNING
    return Level.ERROR if network.proxy_hosts else Level.WARNING


# ── data and models ──────────────────────────────────────────────────────────────────────────────────────────────────


def fetched(scene: Scene) -> Iterator[Finding]:
    for module, sighting in scene.seen(Kind.DOWNLOAD):
        family = FAMILIES[sighting.family]
        host = host_of(sighting.text) or host_in(sighting.text) or family.host
        level = level_of_network(scene, host)
        if level is None or _is_quiet(scene, sighting) or _is_there(scene, sighting):
            continue
        if level is Level.ERROR and (not _is_told(sighting) or guard_words(sighting) & EXISTS_WORDS):
            level = Level.WARNING
        because = _NOBODY_KNOWS if level is Level.HINT else _because(scene, host)
        yield scene.finding(level, DOWNLOADS_AT_RUN_TIME, module, sighting, _what(sighting), family.fix, because)


def _because(scene: Scene, host: str) -> str | None:
    network = scene.site.network
    if network.internet is not Reach.PROXY:
        return None
    if any(host == each or host.endswith(f".{each}") for each in network.proxy_hosts):
        return f"compute nodes reach {host} only with the module {network.proxy_module}"
    return "compute nodes reach the internet only through a proxy, and it lets few hosts through"


def _is_quiet(scene: Scene, sighting: Sighting) -> bool:
    for name, values in FAMILIES[sighting.family].quiet.items():
        value = scene.variable(name)
        if value is not None and value.lower() in values:
            return True
    return False


def _is_told(sighting: Sighting) -> bool:
    """`from_pretrained(name)`: the name may well be a folder."""
    return sighting.family != "hf" or bool(sighting.text) or sighting.name.endswith(("download", "pipeline"))


def _is_there(scene: Scene, sighting: Sighting) -> bool:
    """A model whose name is a folder of the project, or a path that the command gives."""
    text = sighting.text
    if sighting.option:
        value = scene.value_of(sighting.option)
        text = value if isinstance(value, str) else ""
    if not text or is_address(text) or sighting.family != "hf":
        return False
    return text.startswith(("/", ".", "~", "{")) or os.path.isdir(scene.root / text)


def _what(sighting: Sighting) -> str:
    what = f"`{short(sighting.text)}`" if sighting.text.startswith(sighting.name) else f"{sighting.name}()"
    if sighting.family in ("wandb", "comet", "neptune", "tracking"):
        return f"{what} reports over the network"
    names_it = sighting.text and "(" in what and sighting.family in ("hf", "url", "nltk", "spacy")
    return f"{what} downloads" + (f" {quoted(sighting.text)}" if names_it else "")


# ── packages ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def installed(scene: Scene) -> Iterator[Finding]:
    for module, sighting in scene.seen(Kind.INSTALL):
        if sighting.family == "conda" and (welcome := _conda_level(scene)):
            yield scene.finding(welcome, CONDA_DISCOURAGED, module, sighting, f"`{short(sighting.text)}`")
        else:
            yield from _install(scene, module, sighting)


def _install(scene: Scene, module: Module, sighting: Sighting) -> Iterator[Finding]:
    what = f"`{short(sighting.text)}` installs each time that the job runs"
    online = level_of_network(scene, "pypi.org")
    level = Level.ERROR if online is Level.ERROR else Level.WARNING
    if sighting.family == "system":
        yield scene.finding(Level.ERROR, INSTALLS_AT_RUN_TIME, module, sighting, what, "load a module that has it")
    elif sighting.family == "pip" and scene.site.software.wheelhouse and module.language == "shell":
        if "--no-index" not in sighting.text:
            because = "compute nodes do not reach PyPI, so it fails there" if level is Level.ERROR else None
            fix = sighting.text.replace(" install", " install --no-index", 1)
            yield scene.finding(
                level, PIP_WITHOUT_NO_INDEX, module, sighting, f"`{short(sighting.text)}`", fix, because
            )
    else:
        level = Level.WARNING if "--no-index" in sighting.text else level
        yield scene.finding(level, INSTALLS_AT_RUN_TIME, module, sighting, what)


def conda(scene: Scene) -> Iterator[Finding]:
    level = _conda_level(scene)
    if level is None:
        return
    for module, sighting in scene.seen(Kind.CONDA):
        yield scene.finding(level, CONDA_DISCOURAGED, module, sighting, f"`{short(sighting.text)}`")
    file, line = place_of(scene, "env.modules")
    for name in scene.plan.modules.value:
        if "conda" in name.lower():
            yield at(level, CONDA_DISCOURAGED).broken(f"the module {name}", file=file, line=line)


def _conda_level(scene: Scene) -> Level | None:
    return {Welcome.DISCOURAGED: Level.WARNING, Welcome.FORBIDDEN: Level.ERROR}.get(scene.site.software.conda)
