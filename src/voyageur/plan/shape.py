"""How much of what: nodes, tasks, CPUs, memory, GPUs and time, from the wish and the site's own ratios."""

from __future__ import annotations

from typing import NamedTuple

from voyageur.errors import SpecError
from voyageur.launch import Style, Tasks, Wanted
from voyageur.launch.signs import Recognised
from voyageur.plan.gpus import gpu_reason, with_implied_gpu
from voyageur.plan.model import Choice, Queue, Shape
from voyageur.plan.queue import choose_partition, decide_queue
from voyageur.plan.reasons import asked
from voyageur.site import Gpu, Partition, Policy, Site
from voyageur.spec import Resources, Spec
from voyageur.units import Size


class _Wish(NamedTuple):
    """What is wanted, and where: what every amount is decided from."""

    spec: Spec
    site: Site
    wanted: Resources
    partition: Partition
    gpu: Gpu | None


def decide_shape(spec: Spec, site: Site, style: Style, recognised: Recognised | None = None) -> tuple[Shape, Queue]:
    """`recognised`: the program itself may say how many ranks a node has."""
    wanted = with_implied_gpu(spec, site)
    partition, because = choose_partition(spec, wanted, site)
    wish = _Wish(
        spec, site, wanted, partition, partition.gpu(wanted.gpu, wanted.gpus, wanted.nodes) if wanted.gpus else None
    )
    ranks = _ranks(wish, style, recognised)
    tasks = _tasks_per_node(wish, style, ranks)
    cpus = _cpus(wish, ranks.value)
    shape = Shape(
        nodes=Choice(value=wanted.nodes, because=asked(spec, "resources.nodes")),
        ranks=ranks,
        tasks_per_node=tasks,
        cpus_per_task=Choice(value=max(1, cpus.value // tasks.value), because=cpus.because),
        memory=_memory(wish, cpus.value),
        gpus=Choice(value=wanted.gpus, because=asked(spec, "resources.gpus")),
        gpu=Choice(value=_said_model(wish), because=gpu_reason(spec, site, wish.gpu)),
        disk=Choice(value=wanted.disk, because=asked(spec, "resources.disk")),
        time=Choice(value=wanted.time, because=asked(spec, "resources.time")),
    )
    return shape, decide_queue(spec, site, partition, because)


def _said_model(wish: _Wish) -> str | None:
    """Where the partition tells the model apart, sbatch is not told it a second time."""
    unsaid = wish.site.request.gpu_type in (Policy.FORBIDDEN, Policy.IGNORED)
    return None if unsaid else wish.wanted.gpu


def _ranks(wish: _Wish, style: Style, recognised: Recognised | None) -> Choice[int]:
    """On each node: how many processes do the work, whoever starts them."""
    wanted = wish.wanted
    if wanted.tasks:
        return Choice(value=wanted.tasks, because=asked(wish.spec, "resources.tasks"))
    spawn = recognised.spawn() if recognised and style.name == "per-node" else None
    if spawn and (workers := spawn.devices or wanted.gpus):
        many = min(workers, wanted.cpus or workers)
        return Choice(value=many, because=f"{spawn.place} starts so many workers on its node")
    if not style.has_ranks:
        return Choice(value=1, because=f"launch {style.name}")
    if wanted.gpus:
        return Choice(value=wanted.gpus, because=f"launch {style.name}: one task for each GPU")
    said = next(style.processes_said(Wanted(command=wish.spec.command, nodes=wanted.nodes)), None)
    if said:
        return Choice(value=said[1], because=f"the command says `{said[0]}`")
    trainer = next((one for one in recognised.trainers() if one.devices), None) if recognised else None
    if trainer and trainer.devices:
        return Choice(value=trainer.devices, because=f"the program's {trainer.name} has so many devices")
    return Choice(value=1, because=f"launch {style.name} without GPUs or `tasks`: one task a node")


def _tasks_per_node(wish: _Wish, style: Style, ranks: Choice[int]) -> Choice[int]:
    if style.tasks in (Tasks.RANKS, Tasks.COPIES):
        return ranks
    return Choice(value=1, because=f"launch {style.name}: {style.title.partition(':')[0]}")


# ── CPUs ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _cpus(wish: _Wish, tasks: int) -> Choice[int]:
    wanted, partition, name = wish.wanted, wish.partition, wish.site.name
    if wanted.cpus:
        return _asked_cpus(wish, wanted.cpus, tasks)
    if partition.whole_node and partition.cpus:
        return Choice(value=max(tasks, partition.cpus), because=f"{name} gives whole nodes: all {partition.cpus} cores")
    if wish.gpu is None:
        return Choice(value=tasks, because="default: one core a task")
    if wish.gpu.cpus_each:
        each = wish.gpu.cpus_each
        return Choice(value=max(tasks, each * wanted.gpus), because=f"{name}: {each} cores for each GPU")
    if partition.cpus and wish.gpu.per_node:
        each = max(1, partition.cpus_with(wish.gpu))
        because = f"a node's {partition.cpus} cores, shared by its {wish.gpu.per_node} GPUs"
        return Choice(value=max(tasks, each * wanted.gpus), because=because)
    return Choice(value=max(tasks, wanted.gpus), because=f"how many cores {name} has for a GPU is not known: one each")


def _asked_cpus(wish: _Wish, cpus: int, tasks: int) -> Choice[int]:
    if cpus < tasks:
        raise SpecError(f"{cpus} CPUs a node are too few for {tasks} tasks", hint=f"ask for at least `--cpus {tasks}`")
    share = f", shared by {tasks} tasks" if tasks > 1 else ""
    return Choice(value=cpus, because=asked(wish.spec, "resources.cpus") + share)


# ── memory ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _memory(wish: _Wish, cpus: int) -> Choice[Size | None]:
    request, name = wish.site.request.memory, wish.site.name
    if wish.wanted.memory:
        return Choice(value=wish.wanted.memory, because=asked(wish.spec, "resources.memory"))
    if wish.wanted.memory_per_gpu:
        return _memory_per_gpu(wish, wish.wanted.memory_per_gpu)
    if request in (Policy.FORBIDDEN, Policy.IGNORED):
        refuses = "refuses" if request is Policy.FORBIDDEN else "ignores"
        return Choice(value=None, because=f"{name} {refuses} `--mem`: memory comes with the node")
    return _share_of_memory(wish, cpus)


def _memory_per_gpu(wish: _Wish, each: Size) -> Choice[Size | None]:
    source = asked(wish.spec, "resources.memory_per_gpu")
    if not wish.wanted.gpus:
        raise SpecError("memory is given per GPU, but no GPU is asked for", facts=[source], hint="use `--memory`")
    return Choice(value=Size(each.bytes * wish.wanted.gpus), because=f"{each} for each GPU, {source}")


def _all_of_a_node(wish: _Wish) -> Choice[Size | None]:
    """To ask for what only the largest nodes have would leave all others out."""
    partition, name = wish.partition, wish.site.name
    usual = Size(partition.memory_per_cpu.bytes * partition.cpus)
    if usual.bytes and usual < partition.memory:
        return Choice(value=usual, because=f"{name} gives whole nodes: all of the memory that most have")
    return Choice(value=partition.memory, because=f"{name} gives whole nodes: all of its memory")


def _share_of_memory(wish: _Wish, cpus: int) -> Choice[Size | None]:
    partition, gpu, most = wish.partition, wish.gpu, wish.partition.memory
    if gpu and gpu.memory_each.bytes:
        total = Size(gpu.memory_each.bytes * wish.wanted.gpus)
        because = f"{wish.site.name}: {gpu.memory_each} for each GPU"
        if most.bytes and most < total:
            return Choice(value=most, because=f"{because}, but no more than a node can give")
        return Choice(value=total, because=because)
    if partition.whole_node and most.bytes:
        return _all_of_a_node(wish)
    if gpu and gpu.per_node and most.bytes:
        share = Size.of_mebibytes(most.mebibytes * wish.wanted.gpus // gpu.per_node)
        return Choice(value=share, because=f"a node's {most}, shared by its {gpu.per_node} GPUs")
    if partition.memory_per_cpu.bytes:
        share = Size(partition.memory_per_cpu.bytes * cpus)
        return Choice(value=share, because=f"{partition.memory_per_cpu} for each of its cores, as most nodes have it")
    if most.bytes and partition.cpus:
        share = Size.of_mebibytes(most.mebibytes * min(cpus, partition.cpus) // partition.cpus)
        return Choice(value=share, because=f"{cpus} of a node's {partition.cpus} cores, so that share of its memory")
    return Choice(value=None, because="the node's memory is not known: Slurm's own default")
