"""The decisions, each with its reason."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any, Generic, TypeVar

from msgspec import Struct, field

from voyageur.allowance import Account, Balance
from voyageur.env import Built
from voyageur.env.lock import InJob
from voyageur.launch import Launcher
from voyageur.site import Unit
from voyageur.units import Duration, Size

T = TypeVar("T")


class Choice(Struct, Generic[T], frozen=True, kw_only=True):
    value: T
    because: str


class Identity(Struct, frozen=True, kw_only=True):
    """The run's id, for people, and the token by which a lost job is found. The id is the head of the job's name."""

    slug: str
    token: str

    @property
    def run(self) -> str:
        return f"{self.slug}-{self.token[:4]}"

    @property
    def job_name(self) -> str:
        return f"{self.slug}-{self.token}"


class Seen(Struct, frozen=True, kw_only=True):
    """A dataset as it was found on this machine, while the run was planned."""

    kind: str
    size: Size
    members: int | None = None
    unpacked: Size | None = None
    has_checksums: bool = False
    is_all: bool = True


class Cargo(Struct, frozen=True, kw_only=True):
    """A dataset and how it comes to the nodes. `at` is where older programs look for it, below the temp folder."""

    name: str
    source: str
    what: str
    stage: Choice[str]
    at: str = ""
    need: Size | None = None


class SeenImage(Struct, frozen=True, kw_only=True):
    """A container's image as it was found on this machine. `stamp`: its size and time, so that a change is noticed."""

    path: str
    kind: str
    digest: str = ""
    architecture: str | None = None
    size: Size | None = None
    stamp: tuple[int, ...] = ()
    note: str = ""


class Waited(Struct, frozen=True, kw_only=True):
    """How long a job of the user's with such a limit has waited in this cluster's queue."""

    limit: Duration
    seconds: float


class Surroundings(Struct, frozen=True, kw_only=True):
    """What the planner is told of the shell it was called from; nothing else of that shell reaches the job.

    `accounts` and `balances` are what this cluster said; empty is not asked, or no answer. `waits` and `start_up`, in
    seconds, are what earlier runs tell, where a long run is to be cut.
    """

    scratch: str
    active_venv: str | None = None
    project_venv: str | None = None
    conda: str | None = None
    environment: Built | None = None
    lock: InJob | None = None
    datasets: dict[str, Seen] = field(default_factory=dict)
    image: SeenImage | None = None
    container_programs: dict[str, str] = field(default_factory=dict)
    accounts: tuple[Account, ...] = ()
    balances: tuple[Balance, ...] = ()
    account_variables: dict[str, str] = field(default_factory=dict)
    waits: tuple[Waited, ...] = ()
    start_up: float | None = None


class FrozenCode(Struct, frozen=True, kw_only=True):
    """The code as one file, addressed by its content."""

    archive: PurePosixPath
    checksum: str
    files: int
    size: Size


class Folders(Struct, frozen=True, kw_only=True):
    scratch: PurePosixPath
    run: PurePosixPath
    checkpoints: PurePosixPath
    code: PurePosixPath
    results: PurePosixPath


class Shape(Struct, frozen=True, kw_only=True):
    """Nodes, tasks, CPUs, memory, GPUs and time, in the right relation to each other."""

    nodes: Choice[int]
    ranks: Choice[int]
    tasks_per_node: Choice[int]
    cpus_per_task: Choice[int]
    memory: Choice[Size | None]
    gpus: Choice[int]
    gpu: Choice[str | None]
    disk: Choice[Size | None]
    time: Choice[Duration]

    @property
    def cpus_per_rank(self) -> int:
        """A task may start several ranks on its node."""
        return max(1, self.cpus_per_task.value * self.tasks_per_node.value // self.ranks.value)

    @property
    def tasks(self) -> int:
        return self.nodes.value * self.tasks_per_node.value


class Queue(Struct, frozen=True, kw_only=True):
    """Where it waits: the profile's own word for the place, and what sbatch is told of it."""

    place: str
    whole_node: bool = False
    partition: Choice[str | None]
    qos: Choice[str | None]
    constraint: Choice[str | None]


class Chain(Struct, frozen=True, kw_only=True):
    """A long run in pieces that fit the queue. `by`: how one piece follows the other."""

    pieces: Choice[int]
    piece: Choice[Duration]
    by: Choice[str]


class Container(Struct, frozen=True, kw_only=True):
    """The container that the program runs in. `recipe` is what the nodes are told, `document` a file beside it.

    `stage`: how its image comes to the nodes; empty where the runtime sees to that. `in_step`: srun makes it.
    """

    image: Choice[str]
    runtime: Choice[str]
    kind: str
    digest: str = ""
    architecture: str | None = None
    stage: str = ""
    in_step: bool = False
    step_flags: tuple[str, ...] = ()
    document: str = ""
    recipe: dict[str, Any] = field(default_factory=dict)


class Hours(Struct, frozen=True, kw_only=True):
    """What anybody can count, on any site."""

    nodes: float
    cores: float
    gpus: float


class Cost(Struct, frozen=True, kw_only=True):
    """In the site's unit, with the share that decided; None where its formula or a fact for it is not known."""

    amount: float | None
    unit: Unit
    because: str
    at_least: bool = False
    hours: Hours


class Directive(Struct, frozen=True, kw_only=True):
    """One `#SBATCH` line."""

    flag: str
    because: str


class Export(Struct, frozen=True, kw_only=True):
    """One variable that the job sets for itself; a reference to another variable is shell text, not a value."""

    name: str
    value: str
    because: str = ""
    is_shell: bool = False


class Plan(Struct, frozen=True, kw_only=True):
    identity: Identity
    project: str
    project_root: str
    experiment: str
    site: str
    engine: str
    command: tuple[str, ...]
    start_in: str
    shape: Shape
    queue: Queue
    launch: Choice[str]
    warn: Choice[Duration]
    chain: Chain | None
    account: Choice[str | None]
    requeue: Choice[bool]
    folders: Folders
    code: FrozenCode
    directives: tuple[Directive, ...]
    exports: tuple[Export, ...]
    modules: Choice[tuple[str, ...]]
    purge: Choice[bool]
    environment: Choice[Built | None] = Choice(value=None, because="none is made")
    activate: Choice[str | None]
    launch_words: tuple[str, ...]
    launcher: Launcher = Launcher()
    container: Container | None = None
    data: tuple[Cargo, ...] = ()
    results: Choice[tuple[str, ...]] = Choice(value=(), because="nothing is asked for")
    cost: Cost | None = None
    left: Balance | None = None
    secrets: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
