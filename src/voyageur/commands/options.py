"""The flags that say what is wanted; the short ones are those that people know from older submit scripts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from voyageur.errors import SpecError
from voyageur.spec import Given

F = TypeVar("F", bound=Callable[..., Any])

_FLAGS: dict[str, tuple[tuple[str, ...], str]] = {
    "site": (("--on",), "the cluster: `local`, `slurm`, or a profile's name"),
    "resources.nodes": (("-n", "--nodes"), "number of nodes"),
    "resources.gpus": (("-g", "--gpus"), "GPUs on each node"),
    "resources.gpu": (("-G", "--gpu-type"), "which GPU, as the site calls it"),
    "resources.cpus": (("-c", "--cpus"), "CPUs on each node; by default the site's share for the GPUs"),
    "resources.memory": (("--memory", "--mem"), "memory on each node, like 32000M or 10G"),
    "resources.memory_per_gpu": (("-m", "--mem-per-gpu"), "memory for each GPU"),
    "resources.tasks": (("--tasks",), "how often the command starts on each node"),
    "resources.time": (("-t", "--time"), "time limit, like 3d, 24h, 90m or 1-12:00:00"),
    "account": (("-a", "--account"), "account to charge"),
    "partition": (("-p", "--partition"), "partition, where the site does not choose it itself"),
    "qos": (("--qos",), "quality of service"),
    "constraint": (("--constraint",), "node features to ask for"),
    "experiment": (("-e", "--exp-name"), "experiment: a table of the project file, or just a name"),
    "launch.with": (("-W", "--launch"), "how the command starts: plain, per-node, per-rank"),
    "scratch": (("--scratch",), "where runs and checkpoints go; by default $SCRATCH"),
}


def wish_options(function: F) -> F:
    """Adds the flags and the command after `--`; the function gets them as one `wish`."""
    for key, (names, text) in reversed(_FLAGS.items()):
        function = click.option(*names, key.replace(".", "__"), metavar="VALUE", help=text)(function)
    function = click.option(
        "-C",
        "--config",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="another project file, or a text file that holds only the command",
    )(function)
    return click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND]")(function)


class Wish:
    """What was typed: flags by key, and the command."""

    def __init__(self, command: tuple[str, ...], config: Path | None, **values: str | None) -> None:
        self.flags: dict[str, Given] = {}
        for name, value in values.items():
            key = name.replace("__", ".")
            if value is not None:
                self.flags[key] = Given(value, max(_FLAGS[key][0], key=len))
        if command:
            self.flags["command"] = Given(list(command), "the command line")
        self.config = self._read_config(config)

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
        text = config.read_text(encoding="utf-8").replace("\\\n", " ")
        self.flags.setdefault("command", Given(text, str(config)))
        return None
