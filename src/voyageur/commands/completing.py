"""What the shell offers after TAB: runs, sites, experiments, launch styles. Quick, and silent when it cannot."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

F = TypeVar("F", bound=Callable[..., Any])
Items = list[CompletionItem[str]]
Completer = Callable[[click.Context, click.Parameter, str], Items]
Words = Callable[[], Iterable[str]]

_MOST_RUNS = 50


def run_argument(name: str, **how: Any) -> Callable[[F], F]:
    """An argument that is a run's id, or several."""
    return click.argument(name, shell_complete=_runs, **how)


def _runs(context: click.Context, parameter: click.Parameter, incomplete: str) -> Items:
    """Newest first, as the index remembers them: no folder is read and no engine asked."""
    from voyageur.commands import session
    from voyageur.errors import one_line

    typed = context.params.get(parameter.name or "") or ()
    entries = sorted(session.index().read().values(), key=lambda entry: -entry.created)
    fitting = [entry for entry in entries if entry.run.startswith(incomplete) and entry.run not in typed]
    return [
        CompletionItem(entry.run, help=one_line(f"{entry.state}, {entry.command}")[:60])
        for entry in fitting[:_MOST_RUNS]
    ]


def one_of(words: Words) -> Completer:
    def complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> Items:
        if _in_the_program(context):
            return files(context, parameter, incomplete)
        return [CompletionItem(word) for word in _silently(words) if word.startswith(incomplete)]

    return complete


def files(_: click.Context, __: click.Parameter, incomplete: str) -> Items:
    """The shell itself completes these."""
    return [CompletionItem(incomplete, type="file")]


def folders(_: click.Context, __: click.Parameter, incomplete: str) -> Items:
    return [CompletionItem(incomplete, type="dir")]


def _in_the_program(context: click.Context) -> bool:
    """`voy run python train.py -e TAB`: that is the program's own -e."""
    return bool(context.params.get("command"))


def _silently(words: Words) -> Iterable[str]:
    from voyageur.errors import VoyageurError

    try:
        return list(words())
    except (VoyageurError, OSError):
        return ()


def sites() -> Iterable[str]:
    from voyageur.commands import session
    from voyageur.site import profile_names

    return ("local", "slurm", *profile_names(session.own_profiles()))


def launch_styles() -> Iterable[str]:
    from voyageur.launch import names

    return names()


def experiments() -> Iterable[str]:
    from pathlib import Path

    from voyageur import places
    from voyageur.spec import experiment_names

    return experiment_names(Path.cwd(), places.user_file(os.environ))


def rules() -> Iterable[str]:
    from voyageur.rules import all_rules

    return [rule.id for rule in all_rules()]
