"""What the user wants: read from files, variables and flags, said without naming a cluster."""

from voyageur.spec.model import Check, Checkpoint, Environment, Launch, Project, Resources, Snapshot, Spec
from voyageur.spec.read import PROJECT_FILE, Given, experiment_names, project_root, read_spec

__all__ = [
    "PROJECT_FILE",
    "Check",
    "Checkpoint",
    "Environment",
    "Given",
    "Launch",
    "Project",
    "Resources",
    "Snapshot",
    "Spec",
    "experiment_names",
    "project_root",
    "read_spec",
]
