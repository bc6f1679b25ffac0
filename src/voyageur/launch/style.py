"""What a launch style says of itself: one class, and one small file for each that there is.

A style is data. What it says stands in the script for everybody to read; the runtime fills in what only the nodes know.
Words in braces and capitals, like `{MASTER_ADDR}`, are such blanks (`voyageur.runtime.blanks` lists them).
"""

from __future__ import annotations

import enum
from collections.abc import Iterator

from msgspec import Struct

from voyageur.launch.words import is_python, launcher_named, numbers_said

# The command as one worker of somebody else's launcher: its lines get its rank in front, its death is written down.
RANK = ("$VOY_PYTHON", "-I", "$VOY_RUN_DIR/runtime.pyz", "rank", "--")


class Tasks(enum.Enum):
    """What Slurm starts: nothing but the command itself, one task for each node, for each rank, or for each copy."""

    NONE = "none"
    NODES = "nodes"
    RANKS = "ranks"
    COPIES = "copies"


class Wanted(Struct, frozen=True, kw_only=True):
    """What a style is told of the wish and the place. Counts are for each node; `cpus` are those of one rank."""

    command: tuple[str, ...]
    nodes: int = 1
    ranks: int = 1
    gpus: int = 0
    cpus: int = 1
    memory: int = 0  # bytes on each node; 0 when nobody knows
    engine: str = "slurm"
    restarts: int = 0
    line: tuple[str, ...] = ()
    mpi: str | None = None
    mpi4py: bool = False  # the program imports it
    lightning: bool = False  # it makes a Trainer of Lightning's
    lightning_from: str = ""  # the package that it takes it from, if its text says so
    starter: str | None = None  # what starts ranks where srun does not

    @property
    def python(self) -> str:
        return self.command[0] if is_python(self.command) else "python"

    @property
    def world(self) -> int:
        return self.nodes * self.ranks


class Launcher(Struct, frozen=True, kw_only=True):
    """The words that each task puts before the command, and how many of the command's own words they replace."""

    words: tuple[str, ...] = ()
    taken: int = 0


class Services(Struct, frozen=True, kw_only=True):
    """Programs beside the command: a head on the first node, a worker on every node, or not `on_first`.

    The command starts when `ready_line` stands in the head's log `lines` times (by default once for each node), or
    when `ready` ends with 0.
    """

    head: tuple[str, ...]
    worker: tuple[str, ...] = ()
    ready_line: str = ""
    lines: int = 0
    ready: tuple[str, ...] = ()
    on_first: bool = True


class Style:
    """The interface; what is written here is what most styles do.

    `modules` are those that the run's Python must be able to import, `programs` those that must be on its PATH.
    `death` says what happens when one rank dies, `signal` who hears that the time is nearly up.
    """

    name = ""
    title = ""
    tasks = Tasks.NODES
    modules: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    needs_python = False  # the command must be a Python program
    replaces: tuple[str, ...] = ()  # launchers that the command may begin with all the same
    uses_gpus = True
    gpu_for_each = False  # a rank without a GPU of its own makes no sense where there are GPUs
    visible = "all"  # GPUs that a rank sees: all of its node's, or one
    has_ranks = True
    restarts = False
    tags_ranks = False  # its lines carry the rank already
    ends_together = True  # one task that fails ends the others
    ports_for_all = False  # every rank listens on a port of its own
    death = "the step is ended at once; the first that failed is named"
    signal = "the workers that listen"

    def launcher(self, wanted: Wanted) -> Launcher:
        return Launcher()

    def exports(self, wanted: Wanted) -> dict[str, str]:
        """Variables that are the same for all."""
        return {}

    def each(self, wanted: Wanted) -> dict[str, str]:
        """Variables of each task, with blanks."""
        return {}

    def needs(self, wanted: Wanted) -> tuple[str, ...]:
        return self.modules

    def python_of(self, wanted: Wanted) -> str:
        """The Python that must have what it `needs`: the command's, or the one beside the launcher that it names."""
        folder, slash, _ = wanted.command[0].rpartition("/")
        return wanted.python if not launcher_named(wanted.command) else f"{folder}{slash}python"

    def services(self, wanted: Wanted) -> Services | None:
        return None

    def starter(self, wanted: Wanted) -> tuple[str, ...]:
        """What starts the tasks where it is not srun; empty for srun."""
        return ()

    def step_flags(self, wanted: Wanted) -> tuple[str, ...]:
        """What srun is told beyond the numbers."""
        return ()

    def refuse(self, wanted: Wanted) -> None:
        """Raises SpecError for what cannot work."""

    def processes_said(self, wanted: Wanted) -> Iterator[tuple[str, int]]:
        """How many processes a node the command itself asks for: the option as it was typed, and the number."""
        yield from numbers_said(wanted.command, _PROCESS_OPTIONS)


_PROCESS_OPTIONS = ("--nproc-per-node", "--num-gpus", "--ntasks-per-node")
