"""Which of the variables around us Slurm's commands may see."""

from __future__ import annotations

from collections.abc import Mapping

# What tells Slurm's own commands where their cluster is; the rest of these families describes some other job.
FINDS_THE_CLUSTER = frozenset({"SLURM_CONF", "SLURM_CONF_SERVER"})
# SQUEUE_PARTITION and its like would hide jobs from a question, SCANCEL_PARTITION from a cancel.
_MISLEADING = ("SLURM_", "SBATCH_", "SRUN_", "SALLOC_", "SQUEUE_", "SCANCEL_", "SINFO_", "SACCT_", "SCONTROL_")


def clean_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Without the traces of a job around us and of personal habits: SBATCH_* beats #SBATCH lines."""
    return {
        name: value
        for name, value in environment.items()
        if name in FINDS_THE_CLUSTER or not name.startswith(_MISLEADING)
    }
