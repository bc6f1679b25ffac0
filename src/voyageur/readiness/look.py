"""Is this project ready for that cluster? Looks at its files; runs none of them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from voyageur.findings import Finding, Level
from voyageur.plan import Plan
from voyageur.readiness.judge import displays, lasting, network, paths, processes, questions
from voyageur.readiness.judge import files as judged_files
from voyageur.readiness.model import Kind, Module
from voyageur.readiness.reach import is_aside, reach
from voyageur.readiness.scene import Scene
from voyageur.readiness.small_files import find_crowds
from voyageur.readiness.sources import language_of, read_files
from voyageur.rules.model import Known
from voyageur.site import Site
from voyageur.snapshot.git import list_files
from voyageur.spec import Spec

_JUDGES = (
    judged_files.broken,
    displays.windows,
    questions.asked,
    questions.submitting,
    paths.local_paths,
    network.fetched,
    network.installed,
    network.conda,
    lasting.checkpoints,
    processes.workers,
    processes.node_cores,
    processes.gpus,
    processes.training,
    judged_files.wheels,
)


def look(
    root: Path, files: Sequence[str], spec: Spec, site: Site, plan: Plan, known: Known | None = None
) -> tuple[Finding, ...]:
    """`files` are those that travel with the code. The gravest findings come first, then by file and line."""
    reached = reach(root, files, spec.command, plan.start_in)
    scene = Scene(root, tuple(files), spec, site, plan, known or Known(), reached)
    scripts = _other_scripts(root, files, {module.file for module in reached.modules})
    every = [module for module in reached.modules if module.language == "shell"] + scripts
    found = [
        *(finding for judge in _JUDGES for finding in judge(scene)),
        *judged_files.odd_characters(scene, [module for module in scripts if not is_aside(module.file)]),
        *_accounts(scene, every),
        *judged_files.small_files(scene, find_crowds(root, _folders_named(scene))),
    ]
    silenced = {module.file: module.silenced for module in [*reached.modules, *scripts] if module.silenced}
    return in_order(finding for finding in found if not _is_silenced(finding, silenced))


def in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Each once; the gravest first, then by file and line."""
    unique = dict.fromkeys((_key(finding), finding) for finding in findings)
    return tuple(finding for _, finding in sorted(unique, key=lambda each: each[0]))


def _key(finding: Finding) -> tuple[int, str, int, str, str]:
    return (finding.level.rank, finding.file or "", finding.line or 0, finding.rule, finding.what)


def _is_silenced(finding: Finding, silenced: dict[str, dict[int, tuple[str, ...]]]) -> bool:
    """`# voy: ignore[rule]` on the line; an error is no matter of taste, and stays."""
    if finding.level is Level.ERROR or finding.file is None or finding.line is None:
        return False
    return finding.rule in silenced.get(finding.file, {}).get(finding.line, ())


def _other_scripts(root: Path, files: Sequence[str], reached: set[str]) -> list[Module]:
    """Shell scripts that the command does not start: only what is wrong with them as files matters."""
    return read_files(root, [file for file in files if file not in reached and language_of(file) == "shell"])


def _accounts(scene: Scene, scripts: list[Module]) -> Iterator[Finding]:
    """git is asked only where there is something to ask about."""
    if not any(sighting.kind is Kind.ACCOUNT for module in scripts for sighting in module.sightings):
        return
    tracked = frozenset(list_files(scene.root, "--cached").names or ())
    yield from judged_files.accounts(scene, scripts, tracked, _has_remote(scene.root))


def _has_remote(root: Path) -> bool:
    for folder in (root, *root.parents):
        try:
            return "[remote " in (folder / ".git" / "config").read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
    return False


def _folders_named(scene: Scene) -> list[str]:
    """Folders on this machine that the command names; they may be links to where the data really is."""
    top = os.path.realpath(scene.root)
    words = (word.partition("=")[2] if word.startswith("-") else word for word in scene.spec.command)
    whole = [os.path.join(scene.root, scene.plan.start_in, word) for word in words if word and "\0" not in word]
    return [path for path in whole if os.path.isdir(path) and os.path.realpath(path) not in ("/", top)]
