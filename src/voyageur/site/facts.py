"""The groups of facts that vary between sites. Each stands in its profile beside its source and date.

Everything has an empty default, and empty means unknown: never a promise, never a limit.
"""

from __future__ import annotations

import enum

from msgspec import Struct, field

from voyageur.units import Duration, Size


class Facts(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`weak`: from users' notes, an old page or sources that disagree; `note` says which."""

    source: str = ""
    date: str = ""
    weak: bool = False
    note: str = ""


class Policy(enum.Enum):
    """How a site treats a flag of sbatch. CONDITIONAL: it must be given by those who have a choice, as of accounts."""

    REQUIRED = "required"
    CONDITIONAL = "conditional"
    OPTIONAL = "optional"
    IGNORED = "ignored"
    FORBIDDEN = "forbidden"


class Access(Facts, frozen=True, kw_only=True):
    """How to get in. `session` is how long a certificate lives, `renew` the command that gets a new one.

    `keys`: does a key that the user made open the door? What is larger than `transfer_above` must go through the hosts
    of `transfer`.
    """

    login: tuple[str, ...] = ()
    port: int | None = None
    jump: str | None = None
    transfer: tuple[str, ...] = ()
    transfer_above: Size | None = None
    globus: str | None = None
    factors: tuple[str, ...] = ()
    keys: bool | None = None
    session: Duration | None = None
    renew: str | None = None
    reuse: bool | None = None
    robots: tuple[str, ...] = ()
    unattended: str | None = None
    only_from: str | None = None
    portal: str | None = None


class Request(Facts, frozen=True, kw_only=True):
    """What sbatch wants to be told, and how it is spelled there.

    `gpu_flag` is empty where GPUs come with the node unasked; `gpu_flag_per_rank` is said too where each rank has one.
    `launcher` starts ranks where srun does not; `mpi` is the library that srun speaks to unasked (Slurm's MpiDefault).
    `whole_memory` gives all memory of nodes that are given whole. `default_time` and `default_memory_per_cpu` are what
    a job gets that asks for nothing. `gpus_in_srun`: GPUs must be said to srun, too. `cpu_bind` and `gpu_bind`:
    what srun is told of binding, where the site wants it.
    """

    account: Policy = Policy.OPTIONAL
    account_form: str | None = None
    account_example: str | None = None
    partition: Policy = Policy.OPTIONAL
    qos: Policy = Policy.OPTIONAL
    constraint: Policy = Policy.OPTIONAL
    time: Policy = Policy.OPTIONAL
    memory: Policy = Policy.OPTIONAL
    nodelist: Policy = Policy.OPTIONAL
    export: Policy = Policy.OPTIONAL
    requeue: Policy = Policy.OPTIONAL
    gpu_flag: str = "--gres=gpu:{type}{count}"
    gpu_flag_per_rank: str | None = None
    gpu_type: Policy = Policy.OPTIONAL
    forbidden: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    gpus_in_srun: bool = False
    cpu_bind: str | None = None
    gpu_bind: str | None = None
    launcher: str | None = None
    mpi: str | None = None
    modules_first: bool = False
    whole_memory: str | None = None
    default_time: Duration | None = None
    default_memory_per_cpu: Size | None = None


class Times(Facts, frozen=True, kw_only=True):
    """`tiers` are the edges behind which fewer nodes may be had."""

    maximum: Duration | None = None
    minimum: Duration | None = None
    useful: Duration | None = None
    useful_test: Duration | None = None
    tiers: tuple[Duration, ...] = ()


class Medium(enum.Enum):
    """What a node's own folder is made of; in memory it counts as the job's memory."""

    DISK = "disk"
    MEMORY = "memory"
    NONE = "none"
    UNKNOWN = "unknown"


class LocalDisk(Facts, frozen=True, kw_only=True):
    """The node's own folder: a variable that the site sets, else a path to make a folder of our own in."""

    variable: str | None = None
    path: str | None = None
    medium: Medium = Medium.UNKNOWN
    size: Size | None = None
    cleaned: bool | None = None
    request: str | None = None


class Use(enum.Enum):
    """What jobs may do in a place."""

    YES = "yes"
    READ_ONLY = "read-only"
    DISCOURAGED = "discouraged"
    NO = "no"


class Place(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file system as its users see it. `path` may hold variables of the shell and `{account}`; empty is not known.

    `size` and `files` cannot be exceeded; `soft_size` and `soft_files` can, for as long as `grace`.
    """

    name: str
    path: str
    size: Size | None = None
    files: int | None = None
    soft_size: Size | None = None
    soft_files: int | None = None
    grace: Duration | None = None
    shared: bool = False
    purge_days: int | None = None
    jobs: Use = Use.YES
    backup: bool | None = None
    note: str = ""


class Storage(Facts, frozen=True, kw_only=True):
    """`submit_from`: where sbatch must be typed. `no_touch`: making files look younger is abuse here."""

    scratch: str = "$SCRATCH"
    places: tuple[Place, ...] = ()
    quota_command: str | None = None
    submit_from: str | None = None
    no_submit_from: tuple[str, ...] = ()
    refuses_over_quota: bool = False
    keeps_archive_times: bool = False
    no_touch: bool = False

    def place(self, name: str) -> Place | None:
        return next((place for place in self.places if place.name == name), None)


class Reach(enum.Enum):
    """What a compute node reaches of the internet. PROXY: a module or variable opens a few hosts."""

    OPEN = "open"
    PROXY = "proxy"
    NONE = "none"
    UNKNOWN = "unknown"


class Network(Facts, frozen=True, kw_only=True):
    """`variables` are those that NCCL, GLOO and their like need there. They go into every job of several nodes.

    `master_suffix` is what a host's name ends with when MASTER_ADDR must lie on the fast network.
    """

    internet: Reach = Reach.UNKNOWN
    proxy_module: str | None = None
    proxy_hosts: tuple[str, ...] = ()
    fabric: str | None = None
    interface: str | None = None
    master_suffix: str | None = None
    variables: dict[str, str] = field(default_factory=dict)


class Welcome(enum.Enum):
    """What a site says of a way to install software."""

    FINE = "fine"
    DISCOURAGED = "discouraged"
    FORBIDDEN = "forbidden"
    UNKNOWN = "unknown"


class Software(Facts, frozen=True, kw_only=True):
    """`purge`: may a script start with `module purge`? `blocked`: modules, or their beginnings, that are refused.

    `containers` are runtimes by the names that `voyageur.containers` has for them, the preferred one first.
    """

    modules: tuple[str, ...] = ()
    before_environment: tuple[str, ...] = ()
    blocked: tuple[str, ...] = ()
    system: str | None = None
    purge: bool = True
    pythons: tuple[str, ...] = ()
    wheelhouse: bool = False
    wheels_command: str | None = None
    environments: tuple[str, ...] = ()
    conda: Welcome = Welcome.UNKNOWN
    pip: Welcome = Welcome.UNKNOWN
    containers: tuple[str, ...] = ()
    container_module: str | None = None
    architecture: str | None = None
    instructions: str | None = None
    gpu_vendor: str | None = None


class Limits(Facts, frozen=True, kw_only=True):
    """Per user. `sbatch_in_jobs`: may a job submit its successor?"""

    submitted: int | None = None
    running: int | None = None
    array: int | None = None
    sbatch_pause: Duration | None = None
    sbatch_in_jobs: bool | None = None
    poll_pause: Duration | None = None
    transfers: int | None = None


class Unit(enum.Enum):
    """What an allocation is counted in."""

    NODE_HOURS = "node-hours"
    CORE_HOURS = "core-hours"
    GPU_HOURS = "GPU-hours"
    RGU_HOURS = "RGU-hours"
    SERVICE_UNITS = "SU"
    UNKNOWN = "unknown"


class Share(enum.StrEnum):
    """What of a job may be weighed."""

    NODES = "nodes"
    GPUS = "gpus"
    CORES = "cores"
    MEMORY = "memory"


class Accounting(Facts, frozen=True, kw_only=True):
    """A job's hour costs `rate` for the largest of its shares: of nodes, of GPUs, of cores and of memory.

    `by` names the shares that count. Where a node is given whole, its whole is paid, whatever was asked for. `cpu_unit`
    is what jobs without GPUs are counted in, where that is another unit. `whole_slices`: a started slice of cores or of
    memory is paid whole. `least` is what the shortest job costs.
    """

    unit: Unit = Unit.UNKNOWN
    cpu_unit: Unit | None = None
    by: tuple[Share, ...] = ()
    rate: float = 1.0
    core_memory: Size | None = None
    minimum: Duration | None = None
    whole_slices: bool = False
    least: float | None = None
    balance_command: str | None = None
    period: str | None = None


class Conduct(Facts, frozen=True, kw_only=True):
    """What a login node is for, and what its owners ask of their guests."""

    login_cpu: Duration | None = None
    login_memory: Size | None = None
    login_builds: Welcome = Welcome.UNKNOWN
    agents: Welcome = Welcome.UNKNOWN
    editors: Welcome = Welcome.UNKNOWN
    crontab: Welcome = Welcome.UNKNOWN
    requests: tuple[str, ...] = ()


class Fingerprint(Facts, frozen=True, kw_only=True):
    """What tells this cluster from all others. Patterns are those of a shell; one that fits is enough.

    `cluster` is Slurm's ClusterName. `nodes` are patterns of single names, not of Slurm's short lists.
    """

    cluster: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    variables: dict[str, str] = field(default_factory=dict)
    nodes: tuple[str, ...] = ()
