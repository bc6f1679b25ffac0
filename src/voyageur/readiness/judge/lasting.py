"""Whether a long run leaves something behind, and takes it up again."""

from __future__ import annotations

from collections.abc import Iterator

from voyageur.findings import Finding
from voyageur.readiness.libraries import GPU_LIBRARIES, PLAIN_LIBRARIES, SELF_SAVING, SPREADING_IMPORTS, keeps_state
from voyageur.readiness.model import Kind
from voyageur.readiness.scene import Scene
from voyageur.rules.project import NO_CHECKPOINT, NO_RESUME
from voyageur.units import Duration

_SHORT = Duration(3 * 3600)
_WORTH_KEEPING = Duration(3600)


def checkpoints(scene: Scene) -> Iterator[Finding]:
    """Only where all that the program does can be followed: a library nobody knows may save by itself."""
    reason, program = _reason(scene), scene.program
    if not reason or program is None or scene.starts_others or unknown_libraries(scene) or _saves_itself(scene):
        return
    strong = list(scene.seen(Kind.STRONG_SAVE))
    trains = next(scene.seen(Kind.TRAINS), None) is not None
    weak = [each for _, each in scene.seen(Kind.WEAK_SAVE) if not trains or keeps_state(each.name)]
    if not strong and not weak:
        what = f"{program.file} {'trains and saves no model' if trains else 'saves nothing'}, and {reason}"
        yield NO_CHECKPOINT.broken(what, file=program.file)
    elif strong and not _loads(scene, {sighting.family for _, sighting in strong}):
        module, sighting = strong[0]
        what = f"{sighting.name}() saves, but nothing is ever loaded, and {reason}"
        yield NO_RESUME.broken(what, file=module.file, line=sighting.line)


def _reason(scene: Scene) -> str:
    tiers = scene.site.times.tiers
    short, asked = min(tiers, default=_SHORT), scene.plan.shape.time.value
    if scene.partition is not None and scene.partition.preemptible and asked >= _WORTH_KEEPING:
        return f"jobs in {scene.partition.name} may be stopped for others at any time"
    return f"it asks for {asked}" if asked > short else ""


def unknown_libraries(scene: Scene) -> list[str]:
    return sorted(scene.imported.keys() - GPU_LIBRARIES - PLAIN_LIBRARIES - SPREADING_IMPORTS)


def _saves_itself(scene: Scene) -> bool:
    return bool(SELF_SAVING & scene.imported.keys())


def _loads(scene: Scene, formats: set[str]) -> bool:
    """What was saved, in one of these formats; an option to resume will do, too."""
    if any("resume" in name.lower() for name in scene.options):
        return True
    return any(not each.family or each.family in formats or "" in formats for _, each in scene.seen(Kind.LOAD))
