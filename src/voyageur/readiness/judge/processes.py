"""Whether a program uses the CPUs and GPUs that are asked for, and no more."""

from __future__ import annotations

import os
from collections.abc import Iterator

from voyageur.findings import Finding, Level
from voyageur.readiness.judge.lasting import unknown_libraries
from voyageur.readiness.libraries import (
    GPU_LIBRARIES,
    LAUNCH_MODULES,
    LAUNCHERS,
    RANK_VARIABLES,
    SELF_SPREADING,
    SELF_SPREADING_IMPORTS,
    SPREADING,
    SPREADING_IMPORTS,
    WITHOUT_TF32,
)
from voyageur.readiness.model import Kind, Sighting
from voyageur.readiness.scene import Scene
from voyageur.rules.project import (
    BATCH_OF_ONE,
    CORES_OF_THE_NODE,
    NO_GPU_LIBRARY,
    NO_WORKERS,
    SINGLE_PROCESS_LAUNCH,
    SLOW_PRECISION,
    TOO_MANY_WORKERS,
    at,
)

_ENOUGH_FOR_WORKERS = 4
_PRECISION_VARIABLES = {"NVIDIA_TF32_OVERRIDE", "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE"}


def workers(scene: Scene) -> Iterator[Finding]:
    cpus = _cpus_of_a_process(scene)
    # Of a task that starts several processes the affinity is that of all of them.
    alone = cpus >= scene.plan.shape.cpus_per_task.value
    fix = None if alone else f"start as many as a process has CPUs: num_workers={cpus}"
    for module, sighting in scene.seen(Kind.WORKERS):
        count = _count(scene, sighting)
        if count is None:
            continue
        if count > cpus:
            what = f"{count} workers, and a process of this job has {cpus} CPU{'' if cpus == 1 else 's'}"
            yield scene.finding(Level.WARNING, TOO_MANY_WORKERS, module, sighting, what, fix)
        elif count == 0 and scene.plan.shape.gpus.value and cpus >= _ENOUGH_FOR_WORKERS:
            what = f"a DataLoader without workers, and {cpus} CPUs for each process"
            yield scene.finding(Level.HINT, NO_WORKERS, module, sighting, what)


def _count(scene: Scene, sighting: Sighting) -> int | None:
    if sighting.number is not None:
        return sighting.number
    value = scene.value_of(sighting.option)
    if isinstance(value, str):
        return int(value) if value.isdecimal() else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _cpus_of_a_process(scene: Scene) -> int:
    """A launcher on a node starts one process for each GPU, and they share the task's CPUs."""
    shape = scene.plan.shape
    if shape.ranks.value > 1:
        return shape.cpus_per_rank
    several = shape.gpus.value if _is_launched(scene) and shape.tasks_per_node.value == 1 else 1
    return max(1, shape.cpus_per_task.value // max(1, several))


def node_cores(scene: Scene) -> Iterator[Finding]:
    careful = next(scene.seen(Kind.OWN_CORES), None) is not None
    for module, sighting in scene.seen(Kind.CORES) if not careful else ():
        counts = "starts a process for each core of the node" if sighting.family else "counts the cores of the node"
        name = sighting.name if sighting.family else f"{sighting.name}()"
        fix = f"{sighting.family}={CORES_OF_THE_NODE.fix}" if sighting.family else CORES_OF_THE_NODE.fix
        yield scene.finding(Level.HINT, CORES_OF_THE_NODE, module, sighting, f"{name} {counts}", fix)


# ── GPUs ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def gpus(scene: Scene) -> Iterator[Finding]:
    shape, program = scene.plan.shape, scene.program
    count = shape.gpus.value * shape.nodes.value
    if not count or program is None or scene.starts_others:
        return
    unknown = unknown_libraries(scene)
    if not GPU_LIBRARIES & scene.imported.keys():
        if not unknown and not SPREADING_IMPORTS & scene.imported.keys() and "ctypes" not in _all_imports(scene):
            what = f"{_gpus(count)} asked for, and {program.file} imports no library that uses one"
            yield NO_GPU_LIBRARY.broken(what, file=program.file)
    elif count > 1 and not _is_launched(scene):
        yield from _alone(scene, program.file, count, Level.HINT if unknown else Level.WARNING)


def _alone(scene: Scene, file: str, count: int, level: Level) -> Iterator[Finding]:
    """No launcher in the command: then the program itself must use all of them, or each rank its own."""
    signs, tasks = _signs(scene), scene.plan.shape.nodes.value * scene.plan.shape.ranks.value
    by_itself = any(sign in SELF_SPREADING_IMPORTS or sign.startswith(SELF_SPREADING) for sign in signs)
    if by_itself or (signs and tasks > 1):
        return
    what, fix = f"{_gpus(count)} asked for, and {file} uses one", None
    if signs:
        what = f"{_gpus(count)} asked for, and nothing starts a process for each: {file} is started once"
        each = scene.plan.shape.gpus.value
        fix = f"start it with `torchrun --nproc_per_node {each} {file}`, or once for each GPU with `-W per-rank`"
    elif tasks > 1:
        what = f"{tasks} copies of {file} would each do the same work"
    yield at(level, SINGLE_PROCESS_LAUNCH).broken(what, fix=fix, file=file)


def training(scene: Scene) -> Iterator[Finding]:
    """How well a GPU is used by a program that trains with PyTorch; by what stands in its lines."""
    trains = next(((module, seen) for module, seen in scene.seen(Kind.TRAINS)), None)
    if not scene.plan.shape.gpus.value or trains is None or "torch" not in scene.imported:
        return
    for module, sighting in scene.seen(Kind.BATCH):
        yield scene.finding(Level.HINT, BATCH_OF_ONE, module, sighting, "a DataLoader that is told no batch size")
    chosen = next(scene.seen(Kind.PRECISION), None) or set(scene.spec.env.variables) & _PRECISION_VARIABLES
    if not chosen and _may_have_tf32(scene):
        what = "training in float32, and nothing chooses a faster precision"
        yield scene.finding(Level.HINT, SLOW_PRECISION, *trains, what)


def _may_have_tf32(scene: Scene) -> bool:
    name = (scene.plan.shape.gpu.value or "").lower()
    kinds = [name] if name else [gpu.name.lower() for one in scene.site.partitions for gpu in one.gpus]
    return not kinds or any(not kind.startswith(WITHOUT_TF32) for kind in kinds)


def _gpus(count: int) -> str:
    return "one GPU is" if count == 1 else f"{count} GPUs are"


def _all_imports(scene: Scene) -> set[str]:
    return {each.module.partition(".")[0] for module in scene.reached.modules for each in module.imports}


def _signs(scene: Scene) -> set[str]:
    """What shows that the program knows of other processes, or of other GPUs."""
    modules = {each.module for module in scene.reached.modules for each in module.imports}
    signs = {name for name in modules if name.startswith(SPREADING)} | (SPREADING_IMPORTS & scene.imported.keys())
    signs |= {sighting.name for _, sighting in scene.seen(Kind.SETS)} & RANK_VARIABLES
    return signs | {sighting.name for _, sighting in scene.seen(Kind.SPREADS)}


def _is_launched(scene: Scene) -> bool:
    """By a launcher in the command, or in a script that the command starts."""
    words = {os.path.basename(word) for word in scene.spec.command}
    in_scripts = {sighting.name for module, sighting in scene.seen(Kind.SPREADS) if module.language == "shell"}
    return bool((words & (LAUNCHERS | LAUNCH_MODULES)) or (in_scripts & LAUNCHERS))
