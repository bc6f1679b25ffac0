"""The words of a command: is it a Python program, does it name a launcher itself, which numbers does it say?"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from voyageur.errors import SpecError

_PYTHON = re.compile(r"(?:.*/)?python[\d.]*")
_MODULES = {"torch.distributed.run": "torchrun", "torch.distributed.launch": "torchrun"}
# Options of Python's own that stand before the program and have no argument.
_BARE = re.compile(r"-[bBdEhiIOPqRsSuvxVX]+")


def is_python(command: Sequence[str]) -> bool:
    """Does it begin with a Python interpreter, and is a program behind it?"""
    return len(command) > 1 and bool(_PYTHON.fullmatch(command[0])) and bool(program_of(command))


def program_of(command: Sequence[str]) -> str:
    """The file or, behind `-m`, the module; empty for `python -c` and for what is no Python."""
    words = list(command[1:]) if command and _PYTHON.fullmatch(command[0]) else []
    while words:
        if words[0] == "-m":
            return words[1] if len(words) > 1 else ""
        if words[0] in ("-W", "-X"):
            words = words[2:]
        elif _BARE.fullmatch(words[0]):
            words = words[1:]
        else:
            return "" if words[0].startswith("-") else words[0]
    return ""


def launcher_named(command: Sequence[str]) -> str:
    """`torchrun train.py` names its launcher itself; so does `python -m torch.distributed.run`."""
    name = command[0].rpartition("/")[2] if command else ""
    if name == "accelerate":
        return name if list(command[1:2]) == ["launch"] else ""
    if name in ("torchrun", "deepspeed", "horovodrun", "mpirun", "mpiexec", "srun", "spark-submit"):
        return name
    return _MODULES.get(program_of(command), "") if _PYTHON.fullmatch(command[0] if command else "") else ""


def said(command: Sequence[str], options: Iterable[str]) -> Iterator[tuple[str, str]]:
    """`--nproc_per_node=8` and `--nproc_per_node 8`, as typed, and the value; only before the program's own words."""
    words = own_words(command)
    wanted = {_alike(option) for option in options}
    for number, word in enumerate(words):
        name, equals, value = word.partition("=")
        if _alike(name) in wanted:
            following = words[number + 1] if number + 1 < len(words) else ""
            yield (word, value) if equals else (f"{word} {following}", following)


def _alike(option: str) -> str:
    """Launchers take `_` and `-` in their options alike."""
    return option.replace("_", "-")


def numbers_said(command: Sequence[str], options: Iterable[str]) -> Iterator[tuple[str, int]]:
    yield from ((typed, int(value)) for typed, value in said(command, options) if value.isdecimal())


def own_words(command: Sequence[str]) -> list[str]:
    """The launcher's own words, when the command begins with one: all before the program it starts."""
    return list(command[: program_at(command)]) if launcher_named(command) else []


def of_each_node(said: Iterable[tuple[str, int]], nodes: int) -> Iterator[tuple[str, int]]:
    """Of numbers that count the processes of all nodes."""
    for option, number in said:
        if number % nodes:
            raise SpecError(
                f"the command says `{option}`, and {nodes} nodes cannot share {number} processes evenly",
                hint="leave the option out, or ask for other nodes",
            )
        yield option, number // nodes


def port_said(command: Sequence[str], option: str) -> dict[str, str]:
    """As the variable by which the first node tries it out before anything starts. 0 means any."""
    port = next((number for _, number in numbers_said(command, (option,))), 0)
    return {"MASTER_PORT": str(port)} if port else {}


def start_of_program(command: Sequence[str]) -> tuple[tuple[str, ...], int]:
    """What Python is told first in the launcher's place, and how many words of the command that replaces.

    Launchers understand `--module`, Python only `-m`.
    """
    at = program_at(command)
    return (("-m",), at + 1) if list(command[at : at + 1]) == ["--module"] else ((), at)


def program_at(command: Sequence[str]) -> int:
    """Where in `torchrun --nnodes 2 train.py --lr 1` the program stands; the end when it is not seen."""
    for number, word in enumerate(command[1:], 1):
        starts_launcher = list(command[number + 1 : number + 2]) in [[module] for module in _MODULES]
        if word.endswith(".py") or (word in ("-m", "--module") and not starts_launcher):
            return number
    return len(command)
