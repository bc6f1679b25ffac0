"""Which modules a site has, asked in a login shell as that of a job."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources

from voyageur.hosts import Host
from voyageur.questions.bounded import ask_program
from voyageur.site import Site
from voyageur.units import Duration

PATIENCE = Duration(20)
_MISSING = "voyageur: missing "


def missing_modules(
    host: Host, site: Site, modules: Sequence[str], patience: Duration = PATIENCE
) -> tuple[str, ...] | None:
    """None when nobody knows: there is no `module` here, or no answer in time."""
    if not modules:
        return ()
    text = (resources.files("voyageur.questions") / "which_modules.sh").read_text(encoding="utf-8")
    purge = "purge" if site.software.purge else "keep"
    answer = ask_program(host, ["bash", "-lc", text, "bash", purge, *modules], patience)
    lines = answer.output.splitlines() if answer else []
    if "voyageur: looked" not in lines:
        return None
    return tuple(line.removeprefix(_MISSING) for line in lines if line.startswith(_MISSING))
