"""The verbs as a command line: their flags, their help, their completion."""

from __future__ import annotations

import click

from voyageur import __version__
from voyageur.commands.lazy import Lazy
from voyageur.errors import SpecError

# The verbs and their one line of help stand here so that `voy --help` imports none of them.
VERBS = {
    "init": "look at the project, write a commented voyageur.toml",
    "check": "is the project ready for that cluster? each finding with its fix",
    "plan": "every decision with its reason, and the script; touches nothing",
    "run": "run a command on this machine, from the same script, and wait",
    "submit": "submit a command to Slurm; prints the run's id, returns at once",
    "status": "what became of your runs; with a RUN, everything about it",
    "logs": "what a run has printed; -f follows it",
    "wait": "wait until runs have ended; the exit code says how",
    "cancel": "ask runs to end",
    "stop": "ask runs to save and end; no further piece starts",
    "resume": "go on with a run that has ended, from its newest checkpoint",
    "checkpoint": "ask programs to save now and go on",
    "extend": "more pieces for a long run that is still going on",
    "pull": "bring a run's results to where you are",
    "data": "datasets as single archives: pack, index, ls, verify, unpack, scan",
    "env": "the packages of a program, made once as one file: lock, build, show",
    "budget": "what is left of your allocations, and what you used lately",
    "site": "clusters: what is known of them, and what this one is",
    "quota": "how full your places are: bytes and files, the worst first",
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


@click.group(
    cls=Lazy,
    verbs=VERBS,
    help=_STORY,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
)
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
