"""Whether a long run leaves something behind, and takes it up again."""

from __future__ import annotations

from collections.abc import Iterator

from voyageur.findings import Finding
from voyageur.readiness.libraries import GPU_LIBRARIES, PLAIN_LIBRARIES, SELF_SAVING, SPREADING_IMPORTS
from voyageur.readiness.model import Kind
from voyageur.readiness.scene import Scene
from voyageur.rules.project import NO_CHECKPOINT, NO_RESUME
from voyageur.units import Duration

_SHORT = Duration(3 * 3600)


def checkpoints(scene: Scene) -> Iterator[Finding]:
    """Only where all that the program does can be followed: a library nobody knows may save by itself."""
    reason, program = _reason(scene), scene.program
    if not reason or program is None or scene.starts_others or unknown_libraries(scene) or _saves_itself(scene):
        return
    strong = next(scene.seen(Kind.STRONG_SAVE), None)
    if strong is None and next(scene.seen(Kind.WEAK_SAVE), None) is None:
        yield NO_CHECKPOINT.broken(f"{program.file} saves nothing, and {reason}", file=program.file)
    elif strong is not None and next(scene.seen(Kind.LOAD), None) is None and not _has_resume(scene):
        module, sighting = strong
        what = f"{sighting.name}() saves, but nothing is ever loaded, and {reason}"
        yield NO_RESUME.broken(what, file=module.file, line=sighting.line)


def _reason(scene: Scene) -> str:
    tiers = scene.site.times.tiers
    short, asked = min(tiers, default=_SHORT), scene.plan.shape.time.value
    if scene.partition is not None and scene.partition.preemptible:
        return f"jobs in {scene.partition.name} may be stopped for others at any time"
    return f"it asks for {asked}" if asked > short else ""


def unknown_libraries(scene: Scene) -> list[str]:
    return sorted(scene.imported.keys() - GPU_LIBRARIES - PLAIN_LIBRARIES - SPREADING_IMPORTS)


def _saves_itself(scene: Scene) -> bool:
    return bool(SELF_SAVING & scene.imported.keys())


def _has_resume(scene: Scene) -> bool:
    return any("resume" in name.lower() for name in scene.options)
