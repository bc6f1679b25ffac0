"""What the user wants, said without naming a cluster; every value knows where it came from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec import Struct, field

from voyageur.spec.data import Dataset
from voyageur.units import Duration, Size


class Project(Struct, frozen=True, kw_only=True):
    """The folder that travels, and where in it the command was typed."""

    root: Path
    name: str
    start_in: str = "."
    file: Path | None = None


class Resources(Struct, frozen=True, kw_only=True):
    """Per node where a number could be per node. None means: decide from the site."""

    nodes: int = 1
    gpus: int = 0
    gpu: str | None = None
    tasks: int | None = None
    cpus: int | None = None
    memory: Size | None = None
    memory_per_gpu: Size | None = None
    disk: Size | None = None
    time: Duration = Duration(3600)


class Environment(Struct, frozen=True, kw_only=True):
    """`requirements` are files that say which packages are wanted, `wheels` a folder of wheels that travels along.

    `image` is a container's, `runtime` what makes one of it, `binds` the folders that it sees beside the run's own.
    `view` is one of a uenv.
    """

    modules: tuple[str, ...] | None = None
    venv: str | None = None
    python: str | None = None
    requirements: tuple[str, ...] = ()
    wheels: str | None = None
    build: str = "once"
    form: str = "auto"
    image: str | None = None
    runtime: str | None = None
    binds: tuple[str, ...] = ()
    view: str | None = None
    variables: dict[str, str] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()


class Launch(Struct, frozen=True, kw_only=True):
    """`line` is the user's own launcher, `visible` how many GPUs a rank sees, `quiet` how long silence is no news.

    `mps`: do processes on one GPU share it by NVIDIA's MPS? None: copies of `replicas` do, where they can.
    """

    with_: str = "auto"
    line: tuple[str, ...] = ()
    restarts: int = 0
    mpi: str | None = None
    visible: str | None = None
    cpu_bind: str | None = None
    gpu_bind: str | None = None
    mps: bool | None = None
    preflight: bool = False
    exclude_bad_nodes: bool = True
    quiet: Duration = Duration(1800)


class ChainWish(Struct, frozen=True, kw_only=True):
    """How a long run is cut: into so many pieces, or into pieces of this length; neither leaves it to the site."""

    pieces: int | None = None
    piece: Duration | None = None


class Checkpoint(Struct, frozen=True, kw_only=True):
    pattern: str | None = None
    resume: str | None = None
    warn: Duration | None = None
    signal: str = "USR1"
    chain: ChainWish | None = None
    by: str = "auto"
    keep: int | None = None
    progress: str | None = None
    finished: str | None = None


class Retry(Struct, frozen=True, kw_only=True):
    """What may be tried again by itself: after a failure so often; once, with so much more of what it wanted for."""

    failures: int = 0
    memory: float | None = None
    time: float | None = None


class Results(Struct, frozen=True, kw_only=True):
    """What comes back from the node's own disk: patterns, and how often while the program runs."""

    save: tuple[str, ...] = ()
    every: Duration = Duration(600)


class Snapshot(Struct, frozen=True, kw_only=True):
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    limit: Size = Size(100 * 1024**2)


class Check(Struct, frozen=True, kw_only=True):
    """`ignore`: rules whose findings do not count in this project."""

    ignore: tuple[str, ...] = ()


class Spec(Struct, frozen=True, kw_only=True):
    """`site_tables` names every [sites.NAME] there is, also those that do not count here, and where it stands."""

    project: Project
    command: tuple[str, ...] = ()
    experiment: str = ""
    site: str | None = None
    account: str | None = None
    partition: str | None = None
    qos: str | None = None
    constraint: str | None = None
    scratch: str | None = None
    requeue: bool = True
    resources: Resources = Resources()
    env: Environment = Environment()
    launch: Launch = Launch()
    checkpoint: Checkpoint = Checkpoint()
    retry: Retry = Retry()
    data: dict[str, Dataset] = field(default_factory=dict)
    results: Results = Results()
    snapshot: Snapshot = Snapshot()
    check: Check = Check()
    sources: dict[str, str] = field(default_factory=dict)
    given: dict[str, Any] = field(default_factory=dict)
    site_tables: dict[str, str] = field(default_factory=dict)

    def source(self, key: str) -> str:
        return self.sources.get(key, "default")

    def says(self, key: str) -> bool:
        return key in self.sources
