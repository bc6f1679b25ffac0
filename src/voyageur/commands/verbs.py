"""The verbs as a command line: their flags, their help, their completion."""

from __future__ import annotations

import importlib

import click

from voyageur import __version__
from voyageur.errors import SpecError

# The verbs and their one line of help stand here so that `voy --help` imports none of them.
VERBS = {
    "init": "look at the project, write a commented voyageur.toml",
    "plan": "every decision with its reason, and the script; touches nothing",
    "run": "run a command on this machine, from the same script, and wait",
    "submit": "submit a command to Slurm; prints the run's id, returns at once",
    "status": "what became of your runs; with a RUN, everything about it",
    "logs": "what a run has printed; -f follows it",
    "wait": "wait until runs have ended; the exit code says how",
    "cancel": "ask runs to end",
    "data": "datasets as single archives: pack, index, ls, verify, unpack, scan",
    "demo": "the whole story on this machine, in about a minute",
    "completion": "completion for your shell",
}

_STORY = """Carry a program that works here to a Slurm cluster, and bring the results home.

\b
  voy init                          look at this project, write voyageur.toml
  voy plan -- python train.py       what would happen, and why
  voy run -- python train.py        on this machine, without Slurm
  voy submit -g 2 -t 3h -- python train.py
  voy status; voy logs RUN -f; voy wait RUN; voy cancel RUN
"""


class Verbs(click.Group):
    def list_commands(self, _: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, _: click.Context, name: str) -> click.Command | None:
        if name not in VERBS:
            return None
        found: click.Command = importlib.import_module(f"voyageur.commands.{name}").command
        return found

    def resolve_command(
        self, context: click.Context, arguments: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if arguments and arguments[0] not in VERBS:
            if context.resilient_parsing:  # the shell completes; a message would stand in the middle of the line
                return None, None, arguments
            raise _no_such_verb(arguments[0])
        return super().resolve_command(context, arguments)

    def format_commands(self, _: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Verbs"):
            formatter.write_dl(list(VERBS.items()))


def _no_such_verb(wrong: str) -> SpecError:
    from voyageur.spec.keys import nearest

    guess = nearest(wrong, VERBS)
    hint = f"did you mean `voy {guess}`?" if guess else "`voy --help` lists the verbs"
    return SpecError(f"there is no verb `{wrong}`", hint=hint)


@click.group(cls=Verbs, help=_STORY, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80})
@click.version_option(__version__, "-V", "--version", prog_name="voyageur")
def voy() -> None:
    pass


def run_verb(arguments: list[str]) -> int:
    """The exit code; a mistake on the command line comes out as an error of ours, with a hint."""
    try:
        code = voy.main(arguments, prog_name="voy", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except click.exceptions.Abort:
        return 130
    except click.ClickException as error:
        raise _usage_error(error) from None


def _usage_error(error: click.ClickException) -> SpecError:
    context = getattr(error, "ctx", None)
    path = context.command_path if context else "voy"
    first, *rest = error.format_message().splitlines() or ["the command line is not right"]
    what = first[:1].lower() + first[1:].rstrip(".")
    return SpecError(what, facts=[line.strip() for line in rest], hint=f"`{path} --help` shows how")
