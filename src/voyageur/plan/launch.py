"""How the command starts: itself, or through srun with one task for each process that is wanted."""

from __future__ import annotations

from voyageur.errors import SpecError
from voyageur.plan.model import Choice, Shape
from voyageur.plan.reasons import asked
from voyageur.spec import Spec
from voyageur.spec.keys import nearest

TASK = ("$VOY_PYTHON", "-I", "$VOY_RUN_DIR/runtime.pyz", "task", "--")
STYLES = {
    "plain": "one process, on one node",
    "per-node": "the command once on every node: for launchers that start their own workers",
    "per-rank": "the command once per rank: one for each GPU, or as many as `tasks` says",
}


def decide_launch(spec: Spec) -> Choice[str]:
    wanted, resources = spec.launch.with_, spec.resources
    if wanted == "auto":
        if resources.tasks:
            return Choice(value="per-rank", because="tasks are asked for: the command starts once for each")
        if resources.nodes > 1:
            return Choice(value="per-node", because="several nodes: the command starts once on each")
        return Choice(value="plain", because="one node: the command starts once")
    if wanted not in STYLES:
        raise SpecError(
            f"unknown launch style `{wanted}`",
            facts=[asked(spec, "launch.with"), *(f"{name}: {what}" for name, what in STYLES.items())],
            hint=f"did you mean `{nearest(wanted, STYLES) or 'per-node'}`?",
        )
    if wanted == "plain" and resources.nodes > 1:
        raise SpecError(
            f"`plain` starts one process, but {resources.nodes} nodes are asked for",
            hint="use `--launch per-node` or `--launch per-rank`, or one node",
        )
    return Choice(value=wanted, because=f"{asked(spec, 'launch.with')}: {STYLES[wanted]}")


def launch_words(launch: str, shape: Shape, gpu_flag: str = "") -> tuple[str, ...]:
    """The words before the command. Since 22.05 srun does not take --cpus-per-task over from sbatch.

    `gpu_flag` is for sites where a step must ask for its GPUs once more.
    """
    if launch == "plain":
        return ()
    return (
        "srun",
        f"--nodes={shape.nodes.value}",
        f"--ntasks={shape.tasks}",
        f"--ntasks-per-node={shape.tasks_per_node.value}",
        f"--cpus-per-task={shape.cpus_per_task.value}",
        *((gpu_flag,) if gpu_flag else ()),
        "--kill-on-bad-exit=1",
        *(("--label",) if shape.tasks > 1 else ()),
        *TASK,
    )
