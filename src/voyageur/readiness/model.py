"""What a look into one file brings home: sightings. They know nothing of a site; what they mean is judged later."""

from __future__ import annotations

import enum

from msgspec import Struct


class Kind(enum.Enum):
    DISPLAY = "display"
    ASK = "ask"
    PATH = "path"
    DOWNLOAD = "download"
    INSTALL = "install"
    SETS = "sets"  # a variable of the environment, for itself
    STRONG_SAVE = "strong save"  # what only checkpoints and results are written with
    WEAK_SAVE = "weak save"  # any file that is written
    LOAD = "load"
    TRAINS = "trains"
    WORKERS = "workers"
    BATCH = "batch"  # a loader that is told no size of its batches
    PRECISION = "precision"  # chosen for the products of matrices
    CORES = "cores"
    OWN_CORES = "own cores"  # those that the job has
    SPREADS = "spreads"  # over several GPUs, or ranks
    STARTS = "starts"  # another program
    CONDA = "conda"
    SBATCH = "sbatch"
    ACCOUNT = "account"
    DOS = "dos line ends"
    HIDDEN = "hidden character"


MAIN = "__main__"  # the owner of what only a program that is started does


class Guard(Struct, frozen=True, kw_only=True):
    """A condition around a line: all words in it, and the one that it asks for if it is as simple as that."""

    words: tuple[str, ...]
    option: str = ""
    positive: bool = True


class Sighting(Struct, frozen=True, kw_only=True):
    """`name`: what is called, by its whole name. `text`: the literal that matters. `option`: what stands in its place.

    `family`: what it belongs to, as the tables of words have it. `owner`: the function or class around it, if only
    those that name it get there.
    """

    kind: Kind
    line: int
    name: str = ""
    text: str = ""
    family: str = ""
    option: str = ""
    number: int | None = None
    reads: bool = False
    guards: tuple[Guard, ...] = ()
    owner: str = ""


class Option(Struct, frozen=True, kw_only=True):
    """Of the program's command line. `default` is None where none is said, or none that can be told."""

    name: str
    flags: tuple[str, ...]
    line: int
    default: str | int | bool | None = None
    is_switch: bool = False


class Import(Struct, frozen=True, kw_only=True):
    """`level` counts the dots in front; `names` are those of `from module import names`."""

    module: str
    line: int
    level: int = 0
    names: tuple[str, ...] = ()


class Module(Struct, frozen=True, kw_only=True):
    """One file. `problem` says why it could not be read, and where.

    `used`: the names in each function and class, in the module itself (empty), and below `if __name__ == "__main__"`;
    `surely_used`: those that are called there, and under no condition.
    """

    file: str
    language: str
    sightings: tuple[Sighting, ...] = ()
    imports: tuple[Import, ...] = ()
    options: tuple[Option, ...] = ()
    used: dict[str, frozenset[str]] = {}
    surely_used: dict[str, frozenset[str]] = {}
    silenced: dict[int, tuple[str, ...]] = {}
    problem: str = ""
    problem_line: int | None = None
    skipped: str = ""
