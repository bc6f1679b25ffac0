"""All rules by the word that `--ignore` takes, wherever in this room they stand."""

from __future__ import annotations

import importlib
import pkgutil

from voyageur import rules
from voyageur.errors import SpecError
from voyageur.rules.model import Rule
from voyageur.spec.keys import nearest


def every_rule() -> dict[str, Rule]:
    names = [f"{rules.__name__}.{module.name}" for module in pkgutil.iter_modules(rules.__path__)]
    found = [value for name in names for value in vars(importlib.import_module(name)).values()]
    return {rule.id: rule for rule in _flat(found) if isinstance(rule, Rule)}


def _flat(values: list[object]) -> list[object]:
    """Rules stand alone, and in tuples and tables."""
    inner: list[object] = []
    for value in values:
        if isinstance(value, tuple | list):
            inner.extend(value)
        elif isinstance(value, dict):
            inner.extend(value.values())
    return [*values, *inner]


def check_ids(ids: tuple[str, ...], source: str) -> None:
    """A rule that is misspelled would silence nothing, and nobody would know."""
    known = every_rule()
    for word in ids:
        if word not in known:
            guess = nearest(word, known)
            raise SpecError(
                f"there is no rule `{word}`",
                facts=[f"given by {source}"],
                hint=f"did you mean `{guess}`?" if guess else "`voy check` names the rule of each finding in brackets",
            )
