"""Flags that a site wants or does not take, and how it spells a GPU."""

from __future__ import annotations

import re
from collections.abc import Iterator

from voyageur.findings import Finding, Level
from voyageur.rules.model import Advice, Case, Check, Rule
from voyageur.rules.reading import flags, gpus_text, is_cluster, partition_of, value_of
from voyageur.site import Policy

FORBIDDEN_FLAG = Rule(
    id="forbidden-flag",
    numbers=(9,),
    level=Level.ERROR,
    because="a job that says so is rejected",
    fix="leave it out",
    source="TACC documentation: Vista user guide",
)
NODE_CHOICE = Rule(
    id="node-choice",
    numbers=(10,),
    level=Level.ERROR,
    because="jobs that request or exclude nodes by name are deleted there",
    fix="leave the names of nodes out",
    source="TACC documentation: running jobs, specific nodes",
)
REQUIRED_FLAG = Rule(
    id="required-flag",
    numbers=(11,),
    level=Level.ERROR,
    because="a job that does not say so is refused, or starts without what it needs",
    fix="add it",
    source="NERSC documentation: running jobs on Perlmutter",
)
GPU_SPELLING = Rule(
    id="gpu-spelling",
    numbers=(12,),
    level=Level.ERROR,
    because="each site has its own way to ask for GPUs, and does not understand the others",
    fix="ask for GPUs with `--gpus` and `--gpu-type` alone",
    source="Alliance documentation: Using GPUs with Slurm",
)

_MEMORY = ("--mem", "--mem-per-cpu", "--mem-per-gpu")


def forbidden_flag(case: Case) -> Iterator[Finding]:
    request, site = case.site.request, case.site.name
    elsewhere = _MEMORY if request.memory in (Policy.FORBIDDEN, Policy.IGNORED) else ()
    for flag in _told(case):
        if _is_one_of(flag, request.forbidden) and not _is_one_of(flag, elsewhere):
            yield FORBIDDEN_FLAG.broken(f"{site} takes no `{flag}`", source=request.source)
    yield from _memory_flag(case)
    for name, policy in (("qos", request.qos), ("constraint", request.constraint)):
        if policy is Policy.FORBIDDEN and value_of(case, f"--{name}") is not None:
            fix = f"leave `--{name}` out"
            yield FORBIDDEN_FLAG.broken(f"{site} takes no `--{name}`", fix=fix, source=request.source)


def _memory_flag(case: Case) -> Iterator[Finding]:
    request, resources = case.site.request, case.spec.resources
    said = [flag for flag in _told(case) if _is_one_of(flag, _MEMORY)]
    wish = resources.memory or resources.memory_per_gpu
    shown = said[0] if said else f"--memory {wish}" if wish and is_cluster(case) else None
    if shown and request.memory is Policy.FORBIDDEN:
        what = f"{case.site.name} takes no `{shown}`"
        yield FORBIDDEN_FLAG.broken(what, fix="leave the memory out", source=request.source)
    elif shown and request.memory is Policy.IGNORED:
        what, because = f"{case.site.name} ignores `{shown}`", "the memory there comes with the node or with the GPU"
        yield FORBIDDEN_FLAG.broken(
            what, level=Level.WARNING, because=because, fix="leave the memory out", source=request.source
        )


def _told(case: Case) -> list[str]:
    """What sbatch is told, and srun: by the plan, or by a command that calls srun itself."""
    if not is_cluster(case):
        return []
    return [*flags(case), *_srun_flags(case)]


def _srun_flags(case: Case) -> list[str]:
    if case.plan.command[:1] != ("srun",):
        return []
    words = case.plan.command[1:]
    end = next((at for at, word in enumerate(words) if not word.startswith("-")), len(words))
    return list(words[:end])


def _is_one_of(flag: str, names: tuple[str, ...]) -> bool:
    """`--mem` is every `--mem=...`; `--mem=0` is only that."""
    return any(flag == name or flag.startswith(f"{name}=") for name in names)


def node_choice(case: Case) -> Iterator[Finding]:
    if case.site.request.nodelist is not Policy.FORBIDDEN:
        return
    for flag in _told(case):
        if _is_one_of(flag, ("--nodelist", "--exclude", "-w", "-x")) or re.match("-[wx].", flag):
            what = f"nodes are chosen by name with `{flag}`"
            yield NODE_CHOICE.broken(what, fix=f"leave `{flag}` out", source=case.site.request.source)


def required_flag(case: Case) -> Iterator[Finding]:
    if not is_cluster(case):
        return
    request, site = case.site.request, case.site.name
    for wanted in request.extra:
        if value_of(case, wanted.partition("=")[0]) is None:
            yield REQUIRED_FLAG.broken(f"{site} wants `{wanted}`", source=request.source)
    for name, policy in (("qos", request.qos), ("constraint", request.constraint)):
        if policy is Policy.REQUIRED and value_of(case, f"--{name}") is None:
            yield REQUIRED_FLAG.broken(f"{site} wants a `--{name}`", fix=_example_of(case, name), source=request.source)
    if request.gpus_in_srun and case.plan.shape.gpus.value and _starts_without_gpus(case):
        what = f"on {site} the GPUs must be said to srun, too"
        fix = f"start with `srun --gpus-per-node={case.plan.shape.gpus.value} ...`"
        yield REQUIRED_FLAG.broken(what, fix=fix, source=request.source)


def _example_of(case: Case, name: str) -> str | None:
    queue = partition_of(case)
    value = getattr(queue, name) if queue else None
    return f"`--{name} {value}`" if value else f"name it with `--{name}`"


def _starts_without_gpus(case: Case) -> bool:
    words = case.plan.launch_words or case.plan.command
    return words[:1] == ("srun",) and not any(word.startswith(("--gpus", "--gres", "-G")) for word in words)


def gpu_spelling(case: Case) -> Iterator[Finding]:
    if not is_cluster(case):
        return
    shape, form = case.plan.shape, case.site.request.gpu_flag
    kind = f"{shape.gpu.value}:" if shape.gpu.value else ""
    right = form.format(type=kind, count=shape.gpus.value) if shape.gpus.value and form else ""
    said = [flag for flag in _told(case) if re.match(r"--gres=gpu|--gpus(-per-(node|task|socket))?=|-G", flag)]
    for flag in said:
        if flag not in (right, case.site.request.gpu_flag_per_rank) and not _is_one_of(
            flag, case.site.request.forbidden
        ):
            fix = f"ask with `{right}`" if right else "leave it out: GPUs come with the node"
            yield GPU_SPELLING.broken(f"{case.site.name} does not ask for GPUs with `{flag}`", fix=fix)
    if right and not said:
        what = f"the plan wants {gpus_text(case)}, but sbatch is not asked for any"
        yield GPU_SPELLING.broken(what, fix=f"ask with `{right}`", source=case.site.request.source)


RULES = (FORBIDDEN_FLAG, NODE_CHOICE, REQUIRED_FLAG, GPU_SPELLING)
CHECKS: tuple[Check, ...] = (forbidden_flag, node_choice, required_flag, gpu_spelling)
ADVICE: tuple[Advice, ...] = ()
