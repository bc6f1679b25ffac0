"""Paths of this machine, in the program and in the command."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from voyageur.findings import Finding, Level
from voyageur.readiness.model import Kind, Module, Sighting
from voyageur.readiness.paths import exists_only_here, is_home, leaves_upwards, never_on_a_cluster
from voyageur.readiness.scene import EXISTS_WORDS, Scene, guard_words, quoted
from voyageur.rules.project import LOCAL_PATH, WRITES_TO_HOME, at
from voyageur.site import Use


def local_paths(scene: Scene) -> Iterator[Finding]:
    for module, sighting in scene.seen(Kind.PATH):
        if not guard_words(sighting) & EXISTS_WORDS:
            yield from _in_program(scene, module, sighting)
    yield from _defaults(scene)
    yield from _in_command(scene)


def _in_program(scene: Scene, module: Module, sighting: Sighting) -> Iterator[Finding]:
    text = sighting.text
    if leaves_upwards(text):
        if _is_outside(scene, text):
            what = f"{quoted(text)} leaves the project, and what lies there does not travel"
            yield scene.finding(Level.WARNING, LOCAL_PATH, module, sighting, what)
    elif is_home(text) and not never_on_a_cluster(text):
        if not sighting.reads:
            yield from _writes_home(scene, module, sighting)
    elif level := _level(scene, text):
        yield scene.finding(level, LOCAL_PATH, module, sighting, _what(text), relative_fix(scene.root, text))


def _is_outside(scene: Scene, text: str) -> bool:
    return os.path.normpath(os.path.join(scene.plan.start_in, text)).startswith("..")


def _level(scene: Scene, text: str) -> Level | None:
    """None where the job sees it, too."""
    if scene.is_here and os.path.exists(os.path.expanduser(text)):
        return None
    return Level.ERROR if never_on_a_cluster(text) else Level.WARNING


def _what(text: str) -> str:
    never = "exists on no cluster" if never_on_a_cluster(text) else "may exist on this machine only"
    return f"{quoted(text)} {never}"


def relative_fix(root: Path, text: str) -> str | None:
    """For a path into the project, which is somewhere else on the cluster."""
    if text.startswith(f"{root}{os.sep}"):
        return f"write it from the project's folder: {quoted(os.path.relpath(text, root))}"
    return None


def _writes_home(scene: Scene, module: Module, sighting: Sighting) -> Iterator[Finding]:
    home = scene.site.storage.place("home")
    if home is None or home.jobs is Use.YES:
        return
    level = Level.WARNING if home.jobs is Use.DISCOURAGED else Level.ERROR
    what = f"{sighting.name}() writes to {quoted(sighting.text)}"
    yield scene.finding(level, WRITES_TO_HOME, module, sighting, what)


def _defaults(scene: Scene) -> Iterator[Finding]:
    """Of options that the command does not give."""
    for module in scene.reached.modules:
        for option in module.options:
            text = option.default
            if not isinstance(text, str) or not exists_only_here(text) or scene.given(option) is not None:
                continue
            if level := _level(scene, text):
                name = next(iter(option.flags), option.name)
                fix = f"give it in the command: `{name} {{scratch}}/...`"
                level = min(level, Level.WARNING, key=lambda each: -each.rank)
                yield at(level, LOCAL_PATH).broken(
                    f"the default of {name}, {quoted(text)}, may exist on this machine only",
                    fix=fix, file=module.file, line=option.line,
                )  # fmt: skip


def _in_command(scene: Scene) -> Iterator[Finding]:
    file, line = place_of(scene, "command")
    for word in scene.spec.command:
        value = word.partition("=")[2] if word.startswith("-") else word
        if exists_only_here(value) and (level := _level(scene, value)):
            fix = relative_fix(scene.root, value) or "bring it to the cluster, and name it as {scratch}/..."
            yield at(level, LOCAL_PATH).broken(f"in the command: {_what(value)}", fix=fix, file=file, line=line)
        elif leaves_upwards(value) and _is_outside(scene, value):
            what = f"in the command: {quoted(value)} leaves the project, and what lies there does not travel"
            fix = "bring it to the cluster, and name it as {scratch}/..."
            yield at(Level.WARNING, LOCAL_PATH).broken(what, fix=fix, file=file, line=line)


def place_of(scene: Scene, key: str) -> tuple[str | None, int | None]:
    """The file and the line of a key of the project file; nothing for what was typed."""
    file, colon, line = scene.spec.source(key).rpartition(":")
    known = scene.spec.project.file
    if colon and line.isdecimal() and known and file == known.name:
        return file, int(line)
    return None, None
