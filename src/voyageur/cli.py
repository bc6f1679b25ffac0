"""argv -> commands; the one place that turns errors into exit codes."""

from __future__ import annotations

import importlib
import os
import sys

import click

from voyageur import __version__
from voyageur.errors import VoyageurError

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
    "demo": "the whole story on this machine, in about a minute",
    "completion": "completion for your shell",
}

_STORY = """Carry a program that works here to a Slurm cluster, and bring the results home.

\b
  voy init                               look at this project, write voyageur.toml
  voy plan -- python train.py            what would happen, and why
  voy run -- python train.py             on this machine, without Slurm
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
            import difflib

            guess = difflib.get_close_matches(arguments[0], VERBS, n=1)
            raise VerbError(arguments[0], guess[0] if guess else None)
        return super().resolve_command(context, arguments)

    def format_commands(self, _: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Verbs"):
            formatter.write_dl(list(VERBS.items()))


class VerbError(VoyageurError):
    exit_code = 2

    def __init__(self, wrong: str, guess: str | None) -> None:
        hint = f"did you mean `voy {guess}`?" if guess else "`voy --help` lists the verbs"
        super().__init__(f"there is no verb `{wrong}`", hint=hint)


@click.group(cls=Verbs, help=_STORY, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, "-V", "--version", prog_name="voyageur")
def voy() -> None:
    pass


def main() -> None:
    sys.exit(_run())


def _run() -> int:
    try:
        code = voy.main(prog_name="voy", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except VoyageurError as error:
        _say(error.text())
        return error.exit_code
    except click.exceptions.Abort:
        return 130
    except click.ClickException as error:
        _say(_usage_text(error))
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Whoever read our output has left; without this Python complains once more at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception:
        return _our_bug()


def _usage_text(error: click.ClickException) -> str:
    message = error.format_message()
    context = getattr(error, "ctx", None)
    path = context.command_path if context else "voy"
    first, *rest = message.splitlines() or ["the command line is not right"]
    first = first[:1].lower() + first[1:].rstrip(".")
    return "\n".join(
        [f"error: {first}", *(f"  {line.strip()}" for line in rest), "", f"hint: `{path} --help` shows how"]
    )


def _our_bug() -> int:
    import tempfile
    import traceback

    text = traceback.format_exc()
    with tempfile.NamedTemporaryFile("w", prefix="voyageur-bug-", suffix=".log", delete=False) as log:
        log.write(f"voyageur {__version__}, python {sys.version}\n{sys.argv[1:2]}\n{text}")
    last = text.strip().splitlines()[-1]
    _say(f"error: this is a bug in Voyageur\n  {last}\n\nhint: please report it with the log {log.name}")
    return 3


def _say(text: str) -> None:
    sys.stderr.buffer.write(text.encode("utf-8", "backslashreplace") + b"\n")
    sys.stderr.flush()
