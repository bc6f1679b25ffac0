"""A group of verbs of which only the one that is used is imported."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import click

from voyageur.errors import SpecError


class Lazy(click.Group):
    """`verbs`: names and their one line of help. `voyageur.commands.` and the prefix and the name is the module."""

    def __init__(self, *args: Any, verbs: Mapping[str, str], prefix: str = "", called: str = "verb", **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.verbs = verbs
        self.prefix = prefix
        self.called = called

    def list_commands(self, _: click.Context) -> list[str]:
        return list(self.verbs)

    def get_command(self, _: click.Context, name: str) -> click.Command | None:
        if name not in self.verbs:
            return None
        found: click.Command = importlib.import_module(f"voyageur.commands.{self.prefix}{name}").command
        return found

    def resolve_command(
        self, context: click.Context, arguments: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if arguments and arguments[0] not in self.verbs:
            if context.resilient_parsing:  # the shell completes; a message would stand in the middle of the line
                return None, None, arguments
            raise self._no_such_verb(context, arguments[0])
        return super().resolve_command(context, arguments)

    def format_commands(self, _: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section(f"{self.called.capitalize()}s"):
            formatter.write_dl(list(self.verbs.items()))

    def _no_such_verb(self, context: click.Context, wrong: str) -> SpecError:
        from voyageur.spec.keys import nearest

        path = context.command_path
        guess = nearest(wrong, self.verbs)
        hint = f"did you mean `{path} {guess}`?" if guess else f"`{path} --help` lists the {self.called}s"
        return SpecError(f"there is no {self.called} `{wrong}`", hint=hint)
