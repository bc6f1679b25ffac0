"""What sbatch is told, each line with its reason."""

from __future__ import annotations

from collections.abc import Iterator

from voyageur.plan.model import Chain, Choice, Directive, Folders, Identity, Queue, Shape
from voyageur.runtime import folder as run_folder
from voyageur.runtime.inherited import INHERITED
from voyageur.site import Policy, Site
from voyageur.units import Duration, Size


def decide_directives(
    *,
    site: Site,
    identity: Identity,
    folders: Folders,
    shape: Shape,
    queue: Queue,
    account: Choice[str | None],
    warn: Choice[Duration],
    requeue: Choice[bool],
    chain: Chain | None = None,
) -> tuple[Directive, ...]:
    lines = [
        *_names(identity, folders),
        *_amounts(site, shape, queue),
        *_queue(account, queue),
        *_manners(site, warn, requeue),
        *_array(site, chain),
    ]
    return tuple(Directive(flag=flag, because=because) for flag, because in lines)


def _names(identity: Identity, folders: Folders) -> Iterator[tuple[str, str]]:
    log = str(folders.run / run_folder.LOG).replace("%", "%%")
    yield f"--job-name={identity.job_name}", "the run's id and token, by which a lost answer is found again"
    yield f"--chdir={folders.run}", "a folder that exists for as long as the run does"
    yield f"--output={log}", "made before submitting; without its folder a job dies silently"
    yield "--open-mode=append", "a second attempt must not erase the log of the first"


def _amounts(site: Site, shape: Shape, queue: Queue) -> Iterator[tuple[str, str]]:
    yield f"--nodes={shape.nodes.value}", shape.nodes.because
    yield f"--ntasks-per-node={shape.tasks_per_node.value}", shape.tasks_per_node.because
    yield f"--cpus-per-task={shape.cpus_per_task.value}", shape.cpus_per_task.because
    if shape.memory.value:
        yield f"--mem={shape.memory.value.slurm()}", shape.memory.because
    elif queue.whole_node and site.request.whole_memory:
        yield site.request.whole_memory, f"{site.name} gives whole nodes: all of their memory"
    if flag := gpu_flag(site, shape):
        yield flag, f"{shape.gpus.because}, for each node"
    if shape.disk.value:
        yield _disk(site, queue.place, shape.disk.value), shape.disk.because
    yield f"--time={shape.time.value.slurm()}", shape.time.because


def gpu_flag(site: Site, shape: Shape) -> str:
    """In the site's own spelling; nothing where no GPU is wanted, or where GPUs come with the node unasked."""
    if not shape.gpus.value:
        return ""
    if site.request.gpu_flag_per_rank and shape.tasks_per_node.value == shape.gpus.value:
        return site.request.gpu_flag_per_rank
    kind = f"{shape.gpu.value}:" if shape.gpu.value else ""
    return site.request.gpu_flag.format(type=kind, count=shape.gpus.value)


def _disk(site: Site, place: str, size: Size) -> str:
    """In the words of the site, which Slurm alone reads as `--tmp`."""
    own = next((partition.local_request for partition in site.partitions if partition.name == place), None)
    return (own or site.local_disk.request or "--tmp={size}").format(size=size.slurm())


def _queue(account: Choice[str | None], queue: Queue) -> Iterator[tuple[str, str]]:
    if account.value:
        yield f"--account={account.value}", account.because
    for name in ("partition", "qos", "constraint"):
        choice: Choice[str | None] = getattr(queue, name)
        if choice.value:
            yield f"--{name}={choice.value}", choice.because


def _manners(site: Site, warn: Choice[Duration], requeue: Choice[bool]) -> Iterator[tuple[str, str]]:
    yield f"--signal=B:USR1@{warn.value.seconds}", warn.because
    yield ("--requeue" if requeue.value else "--no-requeue"), requeue.because
    for flag in site.request.extra:
        yield flag, f"{site.name} wants it in every job"
    if site.request.export is not Policy.FORBIDDEN:
        yield f"--export={','.join(INHERITED)}", "nothing else of the submitting shell comes along"


def _array(site: Site, chain: Chain | None) -> Iterator[tuple[str, str]]:
    if chain and chain.by.value == "array" and chain.pieces.value > 1:
        yield f"--array=1-{chain.pieces.value}%1", f"pieces of one long run, one at a time: {chain.pieces.because}"
