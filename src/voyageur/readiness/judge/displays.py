"""Windows that a program opens: on a compute node nothing can show them."""

from __future__ import annotations

from collections.abc import Iterator

from voyageur.findings import Finding, Level
from voyageur.readiness import displays
from voyageur.readiness.displays import Display
from voyageur.readiness.model import Kind, Module, Sighting
from voyageur.readiness.scene import Scene, guard_words
from voyageur.rules.project import GRAPHICAL_DISPLAY

_NOTEBOOK = Display("take the line out, and start the program with python", dies=True)
_MAGIC = Display("`%matplotlib inline`, or no such line at all", dies=False)


def windows(scene: Scene) -> Iterator[Finding]:
    for module, sighting in scene.seen(Kind.DISPLAY):
        display = _display(module, sighting)
        if display is None or _is_harmless(scene, sighting, display):
            continue
        level = Level.ERROR if display.dies else Level.WARNING
        yield scene.finding(level, GRAPHICAL_DISPLAY, module, sighting, _what(sighting), display.fix)


def _display(module: Module, sighting: Sighting) -> Display | None:
    if sighting.name in displays.BACKEND_CALLS:
        return displays.backend(sighting.text)
    if not sighting.name.startswith("get_ipython"):
        display = displays.display_of(sighting.name)
        # A notebook keeps what it shows in itself, also where nobody watches.
        return display if module.language != "notebook" or (display and display.dies) else None
    if module.language == "notebook":
        is_window = sighting.text.startswith("matplotlib ") and displays.backend(sighting.text.split()[-1])
        return _MAGIC if is_window else None
    return _NOTEBOOK


def _is_harmless(scene: Scene, sighting: Sighting, display: Display) -> bool:
    """Under a condition that asks for a display, or with a variable that makes do without."""
    if guard_words(sighting) & displays.HEADLESS_WORDS:
        return True
    return bool(display.unless) and scene.variable(display.unless) is not None


def _what(sighting: Sighting) -> str:
    if sighting.text:
        return f"{sighting.name}({sighting.text!r}) wants a window"
    return f"{sighting.name}() opens a window"
