"""How much of what: GPUs, cores and memory against what a node has and what an allocation pays for; several nodes."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from voyageur.findings import Finding, Level
from voyageur.rules.model import Advice, Case, Check, Rule
from voyageur.rules.reading import (
    cpus_a_node,
    gpu_of,
    gpus_text,
    in_mebibytes,
    is_cluster,
    of_memory,
    partition_of,
    value_of,
)
from voyageur.site import Partition, Policy
from voyageur.units import Size

GPU_NAME = Rule(
    id="gpu-name",
    numbers=(13,),
    level=Level.ERROR,
    because="Slurm knows a GPU only by its exact name",
    fix="`sinfo -o %G` lists the names",
    source="Alliance documentation: Using GPUs with Slurm",
)
GPU_UNTYPED = Rule(
    id="gpu-untyped",
    numbers=(14,),
    level=Level.WARNING,
    because="without a model any GPU may come, a slice of one too",
    fix="name one with `--gpu-type`",
    source="Alliance documentation: Using GPUs with Slurm",
)
GPU_COUNT = Rule(
    id="gpu-count",
    numbers=(15,),
    level=Level.ERROR,
    because="other numbers of GPUs are refused",
    fix="ask for another number with `--gpus`",
    source="Alliance documentation: Trillium quickstart, tamIA",
)
CPUS_BUNDLE = Rule(
    id="cpus-bundle",
    numbers=(16,),
    level=Level.WARNING,
    because="cores beyond a GPU's share are billed as more GPUs, and leave GPUs without cores for others",
    fix="ask for fewer with `--cpus`",
    source="Alliance documentation: Allocations and compute scheduling, ratios in bundles",
)
MEMORY_BUNDLE = Rule(
    id="memory-bundle",
    numbers=(17,),
    level=Level.WARNING,
    because="memory beyond a GPU's share is billed as more GPUs",
    fix="ask for less with `--memory`",
    source="Alliance documentation: Allocations and compute scheduling, ratios in bundles",
)
MEMORY_USABLE = Rule(
    id="memory-usable",
    numbers=(18,),
    level=Level.ERROR,
    because="a node has less for jobs than is built in, and a G is 1024 M: such a job waits for ever",
    fix="ask for less with `--memory`",
    source="Alliance documentation: Running jobs",
)
CPUS_USABLE = Rule(
    id="cpus-usable",
    numbers=(19,),
    level=Level.ERROR,
    because="some cores of a node are kept for the system, and a job that wants them never runs",
    fix="ask for fewer with `--cpus`",
    source="LUMI documentation: LUMI-G example job scripts",
)
MEMORY_DEFAULT = Rule(
    id="memory-default",
    numbers=(20,),
    level=Level.WARNING,
    because="Slurm's default is small, and a job that needs more is killed",
    fix="say how much with `--memory`",
    source="Alliance documentation: Running jobs",
)
WHOLE_NODE = Rule(
    id="whole-node",
    numbers=(21,),
    level=Level.WARNING,
    because="nodes are given and billed whole there, whatever is asked for",
    fix="use all of it: several tasks in one job, with GNU parallel or HyperQueue",
    source="CSCS documentation: running jobs; LUMI documentation: billing",
)
SEVERAL_NODES = Rule(
    id="several-nodes",
    numbers=(23,),
    level=Level.WARNING,
    because="programs on several nodes find each other through srun and the site's own network settings",
    fix="start it with `--launch per-node` or `--launch per-rank`",
    source="Alliance documentation: Best practices for job submission; CSCS documentation: NCCL",
)


# ── GPUs ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def gpu_name(case: Case) -> Iterator[Finding]:
    name, known = case.plan.shape.gpu.value, case.site.gpu_names()
    if not is_cluster(case) or not name or not case.plan.shape.gpus.value or not known:
        return
    kinds = [gpu for queue in case.site.partitions for gpu in queue.gpus]
    if not any(gpu.is_called(name) for gpu in kinds):
        what = f"{case.site.name} has no GPU called `{name}`; it has {', '.join(known)}"
        yield GPU_NAME.broken(what, fix=f"`--gpu-type {known[0]}`", source=case.site.queues.source)


def gpu_untyped(case: Case) -> Iterator[Finding]:
    shape, queue = case.plan.shape, partition_of(case)
    if not is_cluster(case) or not shape.gpus.value or shape.gpu.value or "{type}" not in case.site.request.gpu_flag:
        return
    queues = (queue,) if case.plan.queue.partition.value and queue else case.site.partitions
    fitting = [gpu for one in queues for gpu in one.gpus if gpu.name and gpu.allows(shape.gpus.value)]
    names = sorted({gpu.name for gpu in fitting}, key=lambda name: (len(name), name))
    if len(names) > 1:
        what = f"no model is named, and it could be {', '.join(names[:-1])} or {names[-1]}"
        whole = next((gpu.name for gpu in fitting if not gpu.slice), names[0])
        yield GPU_UNTYPED.broken(what, fix=f"`--gpu-type {whole}`", source=case.site.request.source)


def gpu_count(case: Case) -> Iterator[Finding]:
    gpu, shape = gpu_of(case), case.plan.shape
    if gpu is None or not is_cluster(case):
        return
    count, nodes, source = shape.gpus.value, shape.nodes.value, case.site.queues.source
    if gpu.per_job and count * nodes > gpu.per_job:
        what = f"{count * nodes} of `{gpu.name}` are asked for, and a job may have {gpu.per_job}"
        yield GPU_COUNT.broken(what, fix=f"`--nodes 1 --gpus {gpu.per_job}`", source=source)
    elif nodes > 1 and gpu.counts_multinode and count not in gpu.counts_multinode:
        more = max(gpu.counts_multinode)
        allowed = " or ".join(map(str, gpu.counts_multinode))
        what = f"{count} of `{gpu.name}` on each of {nodes} nodes: on several nodes it must be {allowed}"
        yield GPU_COUNT.broken(what, fix=f"`--nodes {ceil(nodes * count / more)} --gpus {more}`", source=source)


# ── the share that comes with a GPU ──────────────────────────────────────────────────────────────────────────────────


def cpus_bundle(case: Case) -> Iterator[Finding]:
    gpu, queue = gpu_of(case), partition_of(case)
    each = max(gpu.cpus_each, gpu.bill_cpus) if gpu else 0
    if queue is None or queue.whole_node or not each or not is_cluster(case):
        return
    cpus, share = cpus_a_node(case), each * case.plan.shape.gpus.value
    if cpus > share:
        what = f"{cpus} cores for {gpus_text(case)}: {each} come with each, so {_as_gpus(cpus, each)}"
        yield CPUS_BUNDLE.broken(what, fix=f"`--cpus {share}`", source=case.site.queues.source)


def memory_bundle(case: Case) -> Iterator[Finding]:
    gpu, queue, memory = gpu_of(case), partition_of(case), case.plan.shape.memory.value
    each = max(gpu.memory_each, gpu.bill_memory) if gpu else Size(0)
    if queue is None or queue.whole_node or not each.bytes or not memory:
        return
    share = Size(each.bytes * case.plan.shape.gpus.value)
    if memory > share and is_cluster(case) and value_of(case, "--mem") is not None:
        what = (
            f"{memory} of memory for {gpus_text(case)}: {each} come with each, so {_as_gpus(memory.bytes, each.bytes)}"
        )
        yield MEMORY_BUNDLE.broken(what, fix=f"`--memory {share}`", source=case.site.queues.source)


def _as_gpus(amount: int, each: int) -> str:
    return f"as many as {ceil(amount / each)} GPUs are billed"


# ── what a node has ──────────────────────────────────────────────────────────────────────────────────────────────────

_RARE = 0.5  # of the cluster's nodes for such jobs
_BY_MISTAKE = 1.1  # 256G where 256000M is meant


def memory_usable(case: Case) -> Iterator[Finding]:
    memory, queue = case.plan.shape.memory.value, partition_of(case)
    if not memory or not is_cluster(case) or value_of(case, "--mem") is None:
        return
    if queue and queue.memory.bytes and memory > queue.memory:
        what = f"{of_memory(memory)} are asked for, and a node has {in_mebibytes(queue.memory)}"
        yield MEMORY_USABLE.broken(what, fix=f"`--memory {in_mebibytes(queue.memory)}`", source=case.site.queues.source)
    elif queue and (usual := _usual_memory(case, queue)) and usual < memory <= Size(int(usual.bytes * _BY_MISTAKE)):
        yield MEMORY_USABLE.broken(
            f"{of_memory(memory)} are asked for, and most nodes have {in_mebibytes(usual)}",
            level=Level.WARNING,
            because=f"the job can only start on the {queue.nodes} nodes that have more",
            fix=f"`--memory {in_mebibytes(usual)}`",
            source=case.site.queues.source,
        )


def _usual_memory(case: Case, queue: Partition) -> Size | None:
    """What the many nodes have, where it goes to the few."""
    wanted = case.plan.shape.gpus.value
    like = [one for one in case.site.partitions if bool(one.gpus) == bool(wanted) and one.memory.bytes]
    most = max(like, key=lambda one: one.nodes, default=queue)
    return most.memory if most.nodes and queue.nodes < most.nodes * _RARE else None


def cpus_usable(case: Case) -> Iterator[Finding]:
    queue, cpus = partition_of(case), cpus_a_node(case)
    if queue and queue.cpus and cpus > queue.cpus and is_cluster(case):
        what = f"{cpus} cores of a node are asked for, and jobs may use {queue.cpus}"
        yield CPUS_USABLE.broken(what, fix=f"`--cpus {queue.cpus}`", source=case.site.queues.source)


def memory_default(case: Case) -> Iterator[Finding]:
    request, queue = case.site.request, partition_of(case)
    told = any(value_of(case, flag) is not None for flag in ("--mem", "--mem-per-cpu", "--mem-per-gpu"))
    if told or request.default_memory_per_cpu is None or (queue and queue.whole_node):
        return
    if request.memory in (Policy.OPTIONAL, Policy.REQUIRED):
        total = Size(request.default_memory_per_cpu.bytes * cpus_a_node(case))
        what = f"no memory is asked for: {request.default_memory_per_cpu} for each core makes {total} a node"
        yield MEMORY_DEFAULT.broken(what, source=request.source)


def whole_node(case: Case) -> Iterator[Finding]:
    queue, gpu, shape = partition_of(case), gpu_of(case), case.plan.shape
    if queue is None or not queue.whole_node or not is_cluster(case):
        return
    if gpu and shape.gpus.value < gpu.per_node:
        what = f"{shape.gpus.value} of a node's {gpu.per_node} GPUs are asked for, and all {gpu.per_node} are paid"
        fix = f"`--gpus {gpu.per_node}`, and let the program or several of them use all"
        yield WHOLE_NODE.broken(what, fix=fix, source=case.site.queues.source)
    elif not shape.gpus.value and queue.cpus and cpus_a_node(case) * 2 <= queue.cpus:
        what = f"{cpus_a_node(case)} of a node's {queue.cpus} cores are used, and all {queue.cpus} are paid"
        level = Level.WARNING if case.spec.says("resources.cpus") or case.spec.says("resources.tasks") else Level.HINT
        yield WHOLE_NODE.broken(what, level=level, source=case.site.queues.source)


# ── several nodes ────────────────────────────────────────────────────────────────────────────────────────────────────

_STARTERS = ("srun", "ibrun", "mpirun", "mpiexec")


def several_nodes(case: Case) -> Iterator[Finding]:
    nodes = case.plan.shape.nodes.value
    if nodes < 2 or not is_cluster(case):
        return
    starters = {*_STARTERS, case.site.request.launcher}
    if not {*case.plan.launch_words[:1], *case.plan.command[:1]} & starters:
        yield SEVERAL_NODES.broken(f"{nodes} nodes are asked for, and the command starts on the first alone")
    yield from _network(case)


def _network(case: Case) -> Iterator[Finding]:
    exported = {export.name: export.value for export in case.plan.exports}
    wanted = case.site.network.variables
    wrong = [name for name, value in wanted.items() if exported.get(name) != value]
    if wrong:
        lines = ", ".join(f'{name} = "{wanted[name]}"' for name in wrong)
        yield SEVERAL_NODES.broken(
            f"not set as {case.site.name} wants it between nodes: {', '.join(wrong)}",
            because="NCCL, GLOO and their like choose the wrong network by themselves",
            fix=f"in the project file: `env.variables = {{ {lines} }}`",
            source=case.site.network.source,
        )


RULES = (
    GPU_NAME, GPU_UNTYPED, GPU_COUNT, CPUS_BUNDLE, MEMORY_BUNDLE, MEMORY_USABLE, CPUS_USABLE, MEMORY_DEFAULT,
    WHOLE_NODE, SEVERAL_NODES,
)  # fmt: skip
CHECKS: tuple[Check, ...] = (
    gpu_name, gpu_untyped, gpu_count, cpus_bundle, memory_bundle, memory_usable, cpus_usable, memory_default,
    whole_node, several_nodes,
)  # fmt: skip
ADVICE: tuple[Advice, ...] = ()
