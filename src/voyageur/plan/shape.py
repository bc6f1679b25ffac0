"""How much of what: nodes, tasks, CPUs, memory, GPUs and time, from the wish and the site's own ratios."""

from __future__ import annotations

from typing import NamedTuple

from msgspec.structs import replace

from voyageur.errors import SiteError, SpecError
from voyageur.plan.model import Choice, Shape
from voyageur.site import Gpu, Partition, Policy, Site
from voyageur.spec import Resources, Spec
from voyageur.spec.keys import nearest
from voyageur.units import Size

STYLES = {
    "plain": "one process, on one node",
    "per-node": "the command once on every node: for launchers that start their own workers",
    "per-rank": "the command once per rank: one for each GPU, or as many as `tasks` says",
}


def decide_launch(spec: Spec) -> Choice[str]:
    asked, resources = spec.launch.with_, spec.resources
    if asked == "auto":
        if resources.tasks:
            return Choice(value="per-rank", because="tasks are asked for: the command starts once for each")
        if resources.nodes > 1:
            return Choice(value="per-node", because="several nodes: the command starts once on each")
        return Choice(value="plain", because="one node: the command starts once")
    if asked not in STYLES:
        raise SpecError(
            f"unknown launch style `{asked}`",
            facts=[_asked(spec, "launch.with"), *(f"{name}: {what}" for name, what in STYLES.items())],
            hint=f"did you mean `{nearest(asked, STYLES) or 'per-node'}`?",
        )
    if asked == "plain" and resources.nodes > 1:
        raise SpecError(
            f"`plain` starts one process, but {resources.nodes} nodes are asked for",
            hint="use `--launch per-node` or `--launch per-rank`, or one node",
        )
    return Choice(value=asked, because=f"{_asked(spec, 'launch.with')}: {STYLES[asked]}")


def decide_shape(spec: Spec, site: Site, launch: str) -> Shape:
    wanted = _with_implied_gpu(spec, site)
    partition, because = _choose_partition(spec, wanted, site)
    gpu = partition.gpu(wanted.gpu, wanted.gpus) if wanted.gpus else None
    tasks = _tasks_per_node(spec, wanted, launch)
    cpus = _cpus(spec, wanted, site, gpu, tasks.value)
    emitted = site.request.partition is not Policy.FORBIDDEN and site.engine != "local"
    return Shape(
        partition=Choice(value=partition.name if emitted else None, because=because),
        nodes=Choice(value=wanted.nodes, because=_asked(spec, "resources.nodes")),
        tasks_per_node=tasks,
        cpus_per_task=Choice(value=max(1, cpus.value // tasks.value), because=cpus.because),
        memory=_memory(spec, wanted, site, partition, gpu, cpus.value),
        gpus=Choice(value=wanted.gpus, because=_asked(spec, "resources.gpus")),
        gpu=Choice(value=wanted.gpu, because=_gpu_reason(spec, site, gpu)),
        time=Choice(value=wanted.time, because=_asked(spec, "resources.time")),
    )


def _asked(spec: Spec, key: str) -> str:
    return f"asked for by {spec.source(key)}" if spec.says(key) else "default"


def _with_implied_gpu(spec: Spec, site: Site) -> Resources:
    wanted = spec.resources
    if site.engine == "local":
        return replace(wanted, gpu=None)  # models are names of a cluster's; this machine has what it has
    if wanted.gpu and not wanted.gpus and not spec.says("resources.gpus"):
        wanted = replace(wanted, gpus=1)
    if wanted.gpus and not wanted.gpu and site.request.gpu_type is Policy.REQUIRED:
        if len(whole := site.gpu_names(slices=False)) != 1:
            raise SiteError(
                f"{site.name} wants to know which GPU",
                facts=["it has: " + ", ".join(site.gpu_names())],
                hint="name one with `--gpu-type`",
            )
        wanted = replace(wanted, gpu=whole[0])
    if wanted.gpu and wanted.gpu not in site.gpu_names():
        has = ", ".join(site.gpu_names()) or "none with a name"
        raise SiteError(
            f"{site.name} has no GPU called `{wanted.gpu}`",
            facts=[f"{_asked(spec, 'resources.gpu')}; it has: {has}"],
            hint=_gpu_hint(wanted.gpu, site),
        )
    return wanted


def _gpu_hint(wrong: str, site: Site) -> str:
    guess = nearest(wrong, site.gpu_names())
    return f"did you mean `--gpu-type {guess}`?" if guess else "leave `--gpu-type` out to take any"


def _gpu_reason(spec: Spec, site: Site, gpu: Gpu | None) -> str:
    if gpu is None:
        return "no GPU asked for"
    if spec.says("resources.gpu"):
        return _asked(spec, "resources.gpu")
    return f"{site.name} wants the model named" if site.request.gpu_type is Policy.REQUIRED else "any GPU will do"


# ── partition ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _choose_partition(spec: Spec, wanted: Resources, site: Site) -> tuple[Partition, str]:
    if spec.partition and site.engine != "local":
        return _named_partition(spec, wanted, site), _asked(spec, "partition")
    ordered = sorted(site.partitions, key=lambda partition: not partition.default)
    if not ordered:
        raise SiteError(
            f"{site.title} shows no partition", hint="`sinfo` should list some; is this account allowed in?"
        )
    fitting = [partition for partition in ordered if not _obstacles(wanted, partition, site)]
    if not fitting:
        raise min((_obstacles(wanted, partition, site) for partition in ordered), key=_distance)[0].error
    if fitting[0].default:
        return fitting[0], "the default partition has what is asked for"
    return fitting[0], "the first partition that has what is asked for; the default one has not"


def _named_partition(spec: Spec, wanted: Resources, site: Site) -> Partition:
    if site.request.partition is Policy.FORBIDDEN:
        raise SiteError(
            f"{site.name} chooses the partition itself",
            facts=[f"partition `{spec.partition}` is {_asked(spec, 'partition')}"],
            hint="leave the partition out",
        )
    names = [partition.name for partition in site.partitions]
    for partition in site.partitions:
        if partition.name == spec.partition:
            if obstacles := _obstacles(wanted, partition, site):
                raise obstacles[0].error
            return partition
    guess = nearest(str(spec.partition), names)
    raise SiteError(
        f"{site.name} has no partition `{spec.partition}`",
        facts=["it has: " + ", ".join(names)],
        hint=f"did you mean `--partition {guess}`?" if guess else "`sinfo -s` lists them",
    )


class Obstacle(NamedTuple):
    """Why a partition can never run it, and how much of the wish it can give: 0 is nothing, almost 1 is nearly all."""

    error: SiteError
    reach: float


def _distance(obstacles: list[Obstacle]) -> tuple[int, float]:
    """The message is about the partition that comes closest."""
    return len(obstacles), -min(obstacle.reach for obstacle in obstacles)


def _obstacles(wanted: Resources, partition: Partition, site: Site) -> list[Obstacle]:
    """A limit that is not known is no obstacle."""
    where = f"partition `{partition.name}` of {site.name}" if site.engine != "local" else "this machine"
    found = [_gpu_obstacle(wanted, partition, where)]
    if site.engine != "local":
        memory = wanted.memory or Size((wanted.memory_per_gpu or Size(0)).bytes * wanted.gpus)
        found += [
            _time_obstacle(wanted, partition, where),
            _too_many(wanted.nodes, partition.nodes, where, "nodes", "nodes"),
            _too_many(wanted.cpus or 0, partition.cpus, where, "CPUs a node", "cpus"),
            _too_many(wanted.tasks or 0, partition.cpus, where, "cores a node for as many tasks", "tasks"),
            _too_much_memory(memory, partition.memory, where),
        ]
    return [obstacle for obstacle in found if obstacle]


def _too_many(value: int, limit: int, where: str, what: str, flag: str) -> Obstacle | None:
    if not limit or value <= limit:
        return None
    hint = f"ask for at most `--{flag} {limit}`"
    return Obstacle(SiteError(f"{where} has no {value} {what}", facts=[f"it has {limit}"], hint=hint), limit / value)


def _too_much_memory(value: Size, limit: Size, where: str) -> Obstacle | None:
    if not limit.bytes or value <= limit:
        return None
    hint = f"ask for at most `--memory {limit}`"
    what = f"{where} has no {value} of memory a node"
    return Obstacle(SiteError(what, facts=[f"it has {limit}"], hint=hint), limit.bytes / value.bytes)


def _time_obstacle(wanted: Resources, partition: Partition, where: str) -> Obstacle | None:
    limit = partition.time_limit
    if limit is None or wanted.time <= limit:
        return None
    hint = f"ask for at most `--time {limit}`"
    what = f"{wanted.time} is longer than {where} allows"
    return Obstacle(SiteError(what, facts=[f"its limit is {limit}"], hint=hint), limit.seconds / wanted.time.seconds)


def _gpu_obstacle(wanted: Resources, partition: Partition, where: str) -> Obstacle | None:
    if not wanted.gpus or partition.gpu(wanted.gpu, wanted.gpus):
        return None
    most = max((gpu.per_node for gpu in partition.gpus if wanted.gpu in (None, gpu.name)), default=0)
    if not most:
        kind = f" called `{wanted.gpu}`" if wanted.gpu else ""
        return Obstacle(SiteError(f"{where} has no GPUs{kind}", hint="run it without: `--gpus 0`"), 0.0)
    hint = f"ask for `--gpus {most}` and more nodes: GPUs are counted per node"
    what = f"{where} has no {wanted.gpus} GPUs in one node"
    return Obstacle(SiteError(what, facts=[f"a node has {most}"], hint=hint), most / wanted.gpus)


# ── tasks, CPUs, memory ──────────────────────────────────────────────────────────────────────────────────────────────


def _tasks_per_node(spec: Spec, wanted: Resources, launch: str) -> Choice[int]:
    if launch != "per-rank":
        return Choice(value=1, because=f"launch {launch}: {STYLES[launch].partition(':')[0]}")
    if wanted.tasks:
        return Choice(value=wanted.tasks, because=_asked(spec, "resources.tasks"))
    if wanted.gpus:
        return Choice(value=wanted.gpus, because="launch per-rank: one task for each GPU")
    return Choice(value=1, because="launch per-rank without GPUs or `tasks`: one task a node")


def _cpus(spec: Spec, wanted: Resources, site: Site, gpu: Gpu | None, tasks: int) -> Choice[int]:
    if wanted.cpus:
        if wanted.cpus < tasks:
            raise SpecError(
                f"{wanted.cpus} CPUs a node are too few for {tasks} tasks", hint=f"ask for at least `--cpus {tasks}`"
            )
        share = f", shared by {tasks} tasks" if tasks > 1 else ""
        return Choice(value=wanted.cpus, because=_asked(spec, "resources.cpus") + share)
    if gpu:
        return Choice(value=gpu.cpus_each * wanted.gpus, because=f"{site.name}: {gpu.cpus_each} cores for each GPU")
    return Choice(value=tasks, because="default: one core a task")


def _memory(
    spec: Spec, wanted: Resources, site: Site, partition: Partition, gpu: Gpu | None, cpus: int
) -> Choice[Size | None]:
    if wanted.memory:
        return Choice(value=wanted.memory, because=_asked(spec, "resources.memory"))
    if wanted.memory_per_gpu:
        if not wanted.gpus:
            raise SpecError(
                "memory is given per GPU, but no GPU is asked for",
                facts=[_asked(spec, "resources.memory_per_gpu")],
                hint="use `--memory`",
            )
        total = Size(wanted.memory_per_gpu.bytes * wanted.gpus)
        return Choice(
            value=total, because=f"{wanted.memory_per_gpu} for each GPU, {_asked(spec, 'resources.memory_per_gpu')}"
        )
    if gpu and gpu.memory_each.bytes:
        total = Size(gpu.memory_each.bytes * wanted.gpus)
        return Choice(value=total, because=f"{site.name}: {gpu.memory_each} for each GPU")
    if partition.memory_per_cpu.bytes:
        share = Size(partition.memory_per_cpu.bytes * cpus)
        return Choice(value=share, because=f"{partition.memory_per_cpu} for each of its cores, as most nodes have it")
    if partition.memory.bytes and partition.cpus:
        share = Size.of_mebibytes(partition.memory.mebibytes * min(cpus, partition.cpus) // partition.cpus)
        return Choice(value=share, because=f"{cpus} of a node's {partition.cpus} cores, so that share of its memory")
    return Choice(value=None, because="the node's memory is not known: Slurm's own default")
