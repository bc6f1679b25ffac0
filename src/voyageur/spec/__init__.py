"""What the user wants: read from files, variables and flags, said without naming a cluster."""

from voyageur.spec.data import STAGES, Dataset
from voyageur.spec.model import (
    ChainWish,
    Check,
    Checkpoint,
    Environment,
    Launch,
    Project,
    Resources,
    Results,
    Retry,
    Snapshot,
    Spec,
)
from voyageur.spec.read import PROJECT_FILE, Given, experiment_names, project_root, read_spec

__all__ = [
    "PROJECT_FILE",
    "STAGES",
    "ChainWish",
    "Check",
    "Checkpoint",
    "Dataset",
    "Environment",
    "Given",
    "Launch",
    "Project",
    "Resources",
    "Results",
    "Retry",
    "Snapshot",
    "Spec",
    "experiment_names",
    "project_root",
    "read_spec",
]
