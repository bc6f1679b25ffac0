"""What every verb needs: where the user stands, which site is meant, which engine runs it, where the runs are."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from voyageur import places
from voyageur.engines import Engine
from voyageur.errors import SiteError
from voyageur.hosts import Here
from voyageur.record import Index
from voyageur.runs import Runs
from voyageur.site import Site, load_profile, local_site, profile_names
from voyageur.spec import Spec, read_spec
from voyageur.spec.keys import nearest


def environment() -> Mapping[str, str]:
    return os.environ


def state_folder() -> Path:
    return places.state_folder(environment())


def index() -> Index:
    return Index(state_folder() / "runs.jsonl")


@cache
def engine_of(name: str) -> Engine:
    if name == "local":
        from voyageur.engines.local import LocalEngine

        return LocalEngine(state_folder() / "local")
    from voyageur.engines.slurm import SlurmEngine

    return SlurmEngine(Here())


def choose_site(asked: str | None) -> Site:
    host = Here()
    name = asked or ("slurm" if host.has("sbatch") else "local")
    if name == "local":
        return local_site()
    if name == "slurm":
        if not host.has("sbatch"):
            raise SiteError(
                "this machine has no Slurm",
                facts=["`sbatch` is not on the PATH"],
                hint="`--on local` runs it on this machine",
            )
        from voyageur.engines.slurm import ask_site

        return ask_site(host)
    if name in profile_names():
        return load_profile(name)
    known = ["local", "slurm", *profile_names()]
    guess = nearest(name, known)
    raise SiteError(
        f"unknown site `{name}`",
        facts=["known: " + ", ".join(known)],
        hint=f"did you mean `--on {guess}`?" if guess else "choose one of these with `--on`",
    )


def runs() -> Runs:
    """Runs are looked for below scratch as this folder's project has it, and wherever the index remembers some."""
    spec = _spec_if_readable()
    asked = spec.scratch if spec else None
    root = places.scratch_folder(asked, "$SCRATCH", environment())
    return Runs([Path(root)], index(), engine_of)


def _spec_if_readable() -> Spec | None:
    from voyageur.errors import VoyageurError

    try:
        return read_spec(
            folder=Path.cwd(), flags={}, environment=environment(), user_file=places.user_file(environment())
        )
    except (VoyageurError, OSError):
        return None
