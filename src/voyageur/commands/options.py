"""The flags that say what is wanted; the short ones are those that people know from older submit scripts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from voyageur.commands import completing
from voyageur.errors import SpecError
from voyageur.spec import Given
from voyageur.spec.data import listed
from voyageur.spec.toml import text_of

F = TypeVar("F", bound=Callable[..., Any])

_FLAGS: dict[str, tuple[tuple[str, ...], str]] = {
    "site": (("--on",), "the cluster: `local`, `slurm`, or a profile's name"),
    "resources.nodes": (("-n", "--nodes"), "number of nodes"),
    "resources.gpus": (("-g", "--gpus"), "GPUs on each node"),
    "resources.gpu": (("-G", "--gpu-type"), "which GPU, as the site calls it"),
    "resources.cpus": (("-c", "--cpus"), "CPUs on each node; by default the site's share for the GPUs"),
    "resources.memory": (("--memory", "--mem"), "memory on each node, like 32000M or 10G"),
    "resources.memory_per_gpu": (("-m", "--mem-per-gpu"), "memory for each GPU"),
    "resources.disk": (("--disk",), "room on each node's own disk, like 300G"),
    "resources.tasks": (("--tasks",), "how often the command starts on each node"),
    "resources.time": (("-t", "--time"), "time limit, like 3d, 24h, 90m or 1-12:00:00"),
    "checkpoint.chain": (("--chain",), "cut a long run into pieces: `auto`, so many, or pieces of this length"),
    "account": (("-a", "--account"), "account to charge"),
    "partition": (("-p", "--partition"), "partition, where the site does not choose it itself"),
    "qos": (("--qos",), "quality of service"),
    "constraint": (("--constraint",), "node features to ask for"),
    "data": (("-d", "--data"), "datasets below the project's place on scratch: -d PATH PATH ..."),
    "experiment": (("-e", "--exp-name"), "experiment: a table of the project file, or just a name"),
    "launch.with": (("-W", "--launch"), "how the command starts: plain, per-rank, torchrun, mpi, ..."),
    "env.image": (("-s", "--container"), "the image of a container to run in: a file, a folder, docker://..."),
    "scratch": (("--scratch",), "where runs and checkpoints go; by default $SCRATCH"),
}


_COMPLETED: dict[str, completing.Completer] = {
    "site": completing.one_of(completing.sites),
    "experiment": completing.one_of(completing.experiments),
    "launch.with": completing.one_of(completing.launch_styles),
    "env.image": completing.files,
    "scratch": completing.folders,
}


class Several(click.Option):
    """Takes all words up to the next option, as older submit scripts did: `-d a b c -- python train.py`."""

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        super().add_to_parser(parser, ctx)
        taken = [parser._short_opt.get(name) or parser._long_opt.get(name) for name in self.opts]
        for option in {id(option): option for option in taken}.values():
            option.process = _taking_more(option.process)


def _taking_more(take: Callable[[str, Any], None]) -> Callable[[str, Any], None]:
    def process(value: str, state: Any) -> None:
        take(value, state)
        while state.rargs and not state.rargs[0].startswith("-"):
            take(state.rargs.pop(0), state)

    return process


class ProgramWords(click.Argument):
    """All words from the first that is no option: those behind it are the program's, `-e 10` included."""

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        super().add_to_parser(parser, ctx)
        parser.allow_interspersed_args = False


def wish_options(function: F) -> F:
    """Adds the flags and the command after `--`; the function gets them as one `wish`."""
    for key, (names, text) in reversed(_FLAGS.items()):
        kind: dict[str, Any] = {"cls": Several, "multiple": True} if key == "data" else {}
        function = click.option(
            *names, key.replace(".", "__"), metavar="VALUE", help=text, shell_complete=_COMPLETED.get(key), **kind
        )(function)
    function = click.option(
        "--ignore",
        multiple=True,
        metavar="RULE",
        help="a rule that this wish may break; several with commas, or one flag each",
        shell_complete=completing.one_of(completing.rules),
    )(function)
    function = click.option(
        "-C",
        "--config",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="another project file, or a text file that holds only the command",
    )(function)
    return click.argument(
        "command",
        cls=ProgramWords,
        nargs=-1,
        type=click.UNPROCESSED,
        metavar="[-- COMMAND]",
        shell_complete=completing.files,
    )(function)


def shape_option(function: F) -> F:
    return click.option(
        "--shape", "shape", metavar="NAME", help="one of the shapes that `voy plan --shapes` shows, by its name"
    )(function)


class Wish:
    """What was typed: flags by key, the command, and the rules that do not count."""

    def __init__(
        self, command: tuple[str, ...], config: Path | None, ignore: tuple[str, ...] = (), **values: Any
    ) -> None:
        self.flags: dict[str, Given] = {}
        self.brings = False  # may what is at a registry be brought to this cluster now?
        self.ignored = tuple(name for names in ignore for name in names.replace(",", " ").split())
        for name, value in values.items():
            key = name.replace("__", ".")
            if key == "data":
                self._take_datasets(value or ())
            elif value is not None:
                self.flags[key] = Given(value, max(_FLAGS[key][0], key=len))
        if command:
            self.flags["command"] = Given(list(command), "the command line")
        self.config = self._read_config(config)

    def _take_datasets(self, paths: Sequence[str]) -> None:
        words = [word for path in paths for word in path.split()]
        if not words:
            return
        try:
            self.flags["data"] = Given(listed(words), "--data")
        except ValueError as problem:
            hint = "give paths below the project's place on scratch, like `-d datasets/images`"
            raise SpecError("--data: `data` is not right", facts=[str(problem)], hint=hint) from None

    def _read_config(self, config: Path | None) -> Path | None:
        """A TOML file is a project file; any other holds only the command."""
        if config is None:
            return None
        if not config.is_file():
            raise SpecError(
                f"there is no file {config}",
                facts=["given by --config"],
                hint="its path counts from the folder you are in",
            )
        if config.suffix == ".toml":
            return config.absolute()
        self.flags.setdefault("command", Given(_command_in(config), str(config)))
        return None


def _command_in(config: Path) -> str:
    """The only line of a text file that is no comment; a backslash at its end makes it go on."""
    lines = [line.strip() for line in text_of(config).replace("\\\n", " ").splitlines()]
    commands = [line for line in lines if line and not line.startswith("#")]
    if len(commands) == 1:
        return commands[0]
    what = f"holds {len(commands)} commands, and a run has one" if commands else "holds no command"
    raise SpecError(
        f"{config} {what}",
        facts=commands[:3],
        hint=f"end a line with a backslash to go on with the next; a script of several starts with `-- bash {config}`",
    )
