"""Where things lie: below the project's own folder on scratch."""

from __future__ import annotations

from pathlib import PurePosixPath

from voyageur.errors import SpecError
from voyageur.plan.identity import folder_name
from voyageur.plan.model import Folders, Identity
from voyageur.runtime.folder import RUNS


def decide_folders(scratch: str, project: str, experiment: str, identity: Identity) -> Folders:
    if any(ord(letter) < 32 for letter in scratch):
        raise SpecError(
            "the scratch folder's name holds a line break",
            facts=[repr(scratch)],
            hint="choose another with `--scratch`",
        )
    if "\\" in scratch:
        raise SpecError(
            "the scratch folder's name holds a backslash, and Slurm drops it from paths",
            facts=[scratch],
            hint="choose another with `--scratch`",
        )
    if experiment == RUNS:
        raise SpecError(f"an experiment cannot be called `{RUNS}`", hint="the runs' own folder has that name")
    own = PurePosixPath(scratch) / folder_name(project)
    return Folders(
        scratch=own,
        run=own / RUNS / identity.run,
        checkpoints=own / experiment / "checkpoints",
        code=own / RUNS / ".code",
        results=own / experiment / "results" / identity.run,
    )
