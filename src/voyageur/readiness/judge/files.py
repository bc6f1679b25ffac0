"""Files that are broken, published, or far too many."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from voyageur.findings import Finding, Level
from voyageur.readiness.marks import hidden_anywhere
from voyageur.readiness.model import Kind, Module, Sighting
from voyageur.readiness.requirements import requirement_in, requirements_of
from voyageur.readiness.scene import Scene
from voyageur.readiness.small_files import Crowd
from voyageur.rules.project import (
    BROKEN_SYNTAX,
    DOS_LINE_ENDS,
    HIDDEN_CHARACTERS,
    MANY_SMALL_FILES,
    MISSING_WHEELS,
    NOT_LOOKED_THROUGH,
    PUBLISHED_ACCOUNT,
    at,
)


def broken(scene: Scene) -> Iterator[Finding]:
    level = Level.ERROR if scene.reached.entries and not _has_newer_python(scene) else Level.WARNING
    for module in scene.reached.modules:
        if module.problem:
            what = f"{module.problem} (read by Python {sys.version_info.major}.{sys.version_info.minor})"
            yield at(level, BROKEN_SYNTAX).broken(what, file=module.file, line=module.problem_line)
        if module.skipped:
            yield NOT_LOOKED_THROUGH.broken(f"not looked through: {module.skipped}", file=module.file)


def _has_newer_python(scene: Scene) -> bool:
    """The job's Python may know words that the one that looks does not."""
    told = [name for name in scene.plan.modules.value if name.startswith("python/")]
    if built := scene.plan.environment.value:
        told.append(f"version = {built.python}")
    if activate := scene.plan.activate.value:
        told += _lines(Path(activate).parent.parent / "pyvenv.cfg")
    versions = [match for text in told if (match := re.search(r"(?:python/|version\w*\s*=\s*)(\d+)\.(\d+)", text))]
    return any((int(match[1]), int(match[2])) > sys.version_info[:2] for match in versions)


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


# ── characters ───────────────────────────────────────────────────────────────────────────────────────────────────────


def odd_characters(scene: Scene, others: Iterable[Module]) -> Iterator[Finding]:
    """`others`: scripts that the command does not reach, as far as it can be told."""
    for module, sighting in scene.seen(Kind.DOS, Kind.HIDDEN):
        level = Level.ERROR if _is_read_as_script(scene, module) else Level.HINT
        yield from _odd(scene, level, module, sighting)
    for module in others:
        for sighting in module.sightings:
            yield from _odd(scene, Level.HINT, module, sighting)
    yield from _in_the_project_file(scene)


def _odd(scene: Scene, level: Level, module: Module, sighting: Sighting) -> Iterator[Finding]:
    if sighting.kind is Kind.DOS:
        fix = f"sed -i 's/\\r$//' {module.file}"
        yield scene.finding(level, DOS_LINE_ENDS, module, sighting, "its lines end as on Windows", fix)
    elif sighting.kind is Kind.HIDDEN:
        yield scene.finding(level, HIDDEN_CHARACTERS, module, sighting, f"the line holds {sighting.name}")


def _is_read_as_script(scene: Scene, module: Module) -> bool:
    """By the kernel or a shell; Python itself minds neither."""
    if module.language == "shell":
        return True
    first = os.path.normpath(os.path.join(scene.plan.start_in, scene.spec.command[0])) if scene.spec.command else ""
    return first == module.file


def _in_the_project_file(scene: Scene) -> Iterator[Finding]:
    file = scene.spec.project.file
    for number, line in enumerate(_lines(file) if file else [], 1):
        if file and (name := hidden_anywhere(line.lstrip("\ufeff") if number == 1 else line)):
            code = line.partition("#")[0]
            if hidden_anywhere(code):
                yield at(Level.WARNING, HIDDEN_CHARACTERS).broken(
                    f"the line holds {name}", file=os.path.relpath(file, scene.root), line=number
                )


# ── accounts ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def accounts(scene: Scene, scripts: Iterable[Module], tracked: frozenset[str], is_shared: bool) -> Iterator[Finding]:
    """`is_shared`: the repository has a remote; without one, nothing is published yet."""
    level = Level.WARNING if is_shared else Level.HINT
    for module in scripts:
        for sighting in module.sightings:
            if sighting.kind is Kind.ACCOUNT and module.file in tracked:
                what = f"the account {sighting.text} stands in a file that git keeps"
                yield at(level, PUBLISHED_ACCOUNT).broken(what, file=module.file, line=sighting.line)


# ── wheels ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def wheels(scene: Scene) -> Iterator[Finding]:
    if not scene.known.missing_wheels:
        return
    asked = {each.name: each for each in requirements_of(scene.root)}
    for text in scene.known.missing_wheels:
        wanted = requirement_in(text, "", 0)
        found = asked.get(wanted.name) if wanted else None
        what = f"{scene.site.name} has no wheel for {text}"
        yield MISSING_WHEELS.broken(what, file=found.file if found else None, line=found.line if found else None)


# ── many ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def small_files(scene: Scene, crowds: Iterable[Crowd]) -> Iterator[Finding]:
    for crowd in crowds:
        inside = scene.is_in_project(crowd.path)
        name = os.path.relpath(crowd.path, scene.root) if inside else crowd.path
        more = "more than " if crowd.at_least else ""
        what = f"{name} holds {more}{crowd.files:,} files{_share(scene, crowd)}"
        fix = f"pack them into one archive: `voy data pack {name}`"
        yield MANY_SMALL_FILES.broken(what, fix=fix, file=name if inside else None)


def _share(scene: Scene, crowd: Crowd) -> str:
    """Of what scratch allows; what is used of it already counts, where that is known."""
    place = scene.site.storage.place("scratch")
    quota = next((each for each in scene.known.quotas if each.place == "scratch" and each.file_limit), None)
    limit = quota.file_limit if quota else place.files if place else None
    if not limit:
        return ""
    used = (quota.files or 0) if quota else 0
    if used + crowd.inodes > limit:
        return f"; with their folders {crowd.inodes:,}, more than are left of the {limit:,} that scratch allows"
    return f", {max(1, round(100 * crowd.inodes / limit))} % of the {limit:,} that scratch allows"
