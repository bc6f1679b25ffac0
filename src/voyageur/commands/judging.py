"""A plan against the rules of its site, with what can be known of the world in a moment."""

from __future__ import annotations

from collections.abc import Iterable

from voyageur.commands.options import Wish
from voyageur.errors import SiteError, SpecError
from voyageur.findings import Finding, Level
from voyageur.rules import all_rules
from voyageur.show.findings import finding_note
from voyageur.show.output import aside
from voyageur.site import Site
from voyageur.spec import Spec
from voyageur.spec.keys import nearest

_WHERE_RULES_ARE = "each finding names its rule in brackets, and the page `Rules` of the documentation has them all"


def check_ignored(ignored: Iterable[str], source: str) -> None:
    """A rule that is misspelled would silence nothing, and nobody would know."""
    known = [rule.id for rule in all_rules()]
    for name in ignored:
        if name not in known:
            guess = nearest(name, known)
            hint = f"did you mean `{guess}`?" if guess else _WHERE_RULES_ARE
            raise SpecError(f"there is no rule `{name}`", facts=[f"given by {source}"], hint=hint)


def ignored_rules(wish: Wish, spec: Spec) -> tuple[str, ...]:
    """Said with the flag, or for the whole project."""
    check_ignored(wish.ignored, "--ignore")
    check_ignored(spec.check.ignore, spec.source("check.ignore"))
    return tuple(dict.fromkeys((*wish.ignored, *spec.check.ignore)))


def refuse_errors(findings: Iterable[Finding], site: Site) -> None:
    """All of them at once: mending one to meet the next is nobody's joy."""
    errors = [found for found in findings if found.level is Level.ERROR]
    if not errors:
        return
    rules = ",".join(dict.fromkeys(found.rule for found in errors))
    if len(errors) == 1:
        found = errors[0]
        facts = [_because(found), f"rule `{found.rule}`; `--ignore {found.rule}` goes on all the same"]
        raise SiteError(found.what, facts=facts, hint=found.fix)
    raise SiteError(
        f"{len(errors)} rules of {site.name} are broken",
        facts=[line for found in errors for line in _lines(found)],
        hint=f"mend them, or go on all the same with `--ignore {rules}`",
    )


def warn(findings: Iterable[Finding]) -> None:
    for found in findings:
        if found.level is Level.WARNING:
            aside(finding_note(found))


def _lines(found: Finding) -> tuple[str, str, str]:
    return f"{found.rule}: {found.what}", f"  {_because(found)}", f"  fix: {found.fix}"


def _because(found: Finding) -> str:
    return f"{found.because} ({found.source})" if found.source else found.because
