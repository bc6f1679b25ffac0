"""The same wish in other shapes: shown with when each would start, or one of them planned by its name."""

from __future__ import annotations

from msgspec import Struct

from voyageur.commands import session
from voyageur.commands.options import Wish
from voyageur.commands.planning import Planned, Wished, judged, plan_from, plan_of, wished_from
from voyageur.errors import SiteError, SpecError, VoyageurError
from voyageur.plan import Cost, decide_cost
from voyageur.plan.shapes import Alternative, alternatives, with_changes
from voyageur.questions.shapes import ask_starts
from voyageur.site import Site
from voyageur.slurm_text.starts import Start
from voyageur.spec.keys import nearest


class Shaped(Struct, frozen=True, kw_only=True):
    """An alternative that can be planned; or what was asked, and why it cannot be."""

    alternative: Alternative
    planned: Planned | None = None
    obstacle: SpecError | None = None

    @property
    def cost(self) -> Cost | None:
        """Of all its pieces."""
        if self.planned is None:
            return None
        plan = self.planned.plan
        return decide_cost(plan.shape, self.planned.site, plan.queue.place, repeats=self.alternative.pieces)


def shapes_of(wish: Wish) -> tuple[Site, list[Shaped]]:
    wished = wished_from(wish)
    if wished.site.engine != "slurm":
        raise SiteError(
            f"{wished.site.title} has no queue to wait in: what is submitted starts at once",
            hint="name a cluster with `--on`; `voy site list` shows those there are",
        )
    found = [_shaped(wished, alternative) for alternative in alternatives(wished.spec, wished.site, wished.around)]
    possible = [shaped for shaped in found if shaped.planned]
    if not possible and found[0].obstacle:
        raise found[0].obstacle
    return wished.site, [found[0], *(shaped for shaped in found[1:] if shaped.planned)]


def _shaped(wished: Wished, alternative: Alternative) -> Shaped:
    """The planner refuses what the site does not give."""
    try:
        return Shaped(alternative=alternative, planned=plan_of(wished, with_changes(wished.spec, alternative)))
    except SpecError as obstacle:
        return Shaped(alternative=alternative, obstacle=obstacle)


def starts_of(site: Site, shapes: list[Shaped]) -> dict[str, Start]:
    """By the shapes' names. Only the cluster's own machines can ask it."""
    planned = [shaped for shaped in shapes if shaped.planned]
    names = [shaped.alternative.name for shaped in planned]
    if not session.is_here(site):
        silence = f"not asked: this machine is not {site.name}"
        return {name: Start(silence=silence) for name in names}
    scripts = [shaped.planned.script for shaped in planned if shaped.planned]
    return dict(zip(names, ask_starts(session.here(), site, scripts), strict=True))


def planned_as(wish: Wish, shape: str | None) -> Planned:
    """As it was asked for, or in one of its other shapes."""
    return plan_shape(wish, shape) if shape else plan_from(wish)


def plan_shape(wish: Wish, name: str) -> Planned:
    _, shapes = shapes_of(wish)
    names = [shaped.alternative.name for shaped in shapes]
    shaped = next((shaped for shaped in shapes if shaped.alternative.name == name), None)
    if shaped is None:
        raise _no_such_shape(name, names)
    if shaped.obstacle:
        raise shaped.obstacle
    if shaped.alternative.pieces > 1:
        raise _in_other_words(shaped.alternative)
    assert shaped.planned
    return judged(shaped.planned)


def _no_such_shape(name: str, names: list[str]) -> VoyageurError:
    guess = nearest(name, names)
    return SpecError(
        f"this job has no shape `{name}`",
        facts=["it has: " + ", ".join(names)],
        hint=f"did you mean `--shape {guess}`?" if guess else "`voy plan --shapes` tells what each is",
    )


def _in_other_words(chain: Alternative) -> VoyageurError:
    time = chain.changes["resources.time"]
    return SpecError(
        f"a chain of {chain.pieces} pieces is asked for in other words",
        facts=["its program must save and go on from there, so the pieces need more than a shape"],
        hint=f"`--chain {time}` in place of `--shape {chain.name}`, with [checkpoint] in voyageur.toml",
    )
