"""The line that starts the program: itself, or srun with one task for each process that is wanted."""

from __future__ import annotations

from voyageur.plan.model import Shape

TASK = ("$VOY_PYTHON", "-I", "$VOY_RUN_DIR/runtime.pyz", "task", "--")


def launch_words(launch: str, shape: Shape) -> tuple[str, ...]:
    """The words before the command. Since 22.05 srun does not take --cpus-per-task over from sbatch."""
    if launch == "plain":
        return ()
    return (
        "srun",
        f"--nodes={shape.nodes.value}",
        f"--ntasks={shape.tasks}",
        f"--ntasks-per-node={shape.tasks_per_node.value}",
        f"--cpus-per-task={shape.cpus_per_task.value}",
        "--kill-on-bad-exit=1",
        *(("--label",) if shape.tasks > 1 else ()),
        *TASK,
    )
