"""Programs that wait for somebody, or do what only a login node may."""

from __future__ import annotations

from collections.abc import Iterator

from voyageur.findings import Finding, Level
from voyageur.readiness.listed import listed
from voyageur.readiness.model import Kind, Sighting
from voyageur.readiness.scene import Scene, guard_words
from voyageur.rules.project import ASKS_FOR_INPUT, SUBMITS_FROM_THE_JOB

_SOMEBODY_IS_THERE = listed("isatty interactive yes force debug prompt confirm noninteractive batch tty -t ask pdb")
_DEBUGGERS = ("pdb.", "ipdb.", "pudb.", "IPython.", "code.", "breakpoint")


def asked(scene: Scene) -> Iterator[Finding]:
    for module, sighting in scene.seen(Kind.ASK):
        if guard_words(sighting) & _SOMEBODY_IS_THERE or _is_off(scene, sighting):
            continue
        stops = sighting.name.startswith(_DEBUGGERS)
        what = f"{sighting.name}() stops for a debugger" if stops else f"{sighting.name}() waits for an answer"
        fix = "take it out" if stops else None
        yield scene.finding(Level.ERROR, ASKS_FOR_INPUT, module, sighting, what, fix)


def _is_off(scene: Scene, sighting: Sighting) -> bool:
    return sighting.name == "breakpoint" and scene.variable("PYTHONBREAKPOINT") == "0"


def submitting(scene: Scene) -> Iterator[Finding]:
    if scene.site.limits.sbatch_in_jobs is not False:
        return
    for module, sighting in scene.seen(Kind.SBATCH):
        yield scene.finding(Level.ERROR, SUBMITS_FROM_THE_JOB, module, sighting, "`sbatch` inside the job")
