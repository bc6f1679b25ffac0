"""What every verb needs: where the user stands, which site is meant, which engine runs it, where the runs are.

Imports stand where they are used: `voy status` must not pay for what only `voy submit` needs.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from voyageur import places
from voyageur.errors import ClusterError, SiteError, VoyageurError
from voyageur.record import Index
from voyageur.runs import Runs

if TYPE_CHECKING:
    from voyageur.engines import Engine
    from voyageur.hosts import Host
    from voyageur.site import Site
    from voyageur.site.detect import Signs


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
    return _slurm_engine()


def engine_for(site: Site) -> Engine:
    """To submit with: it knows how patient the site's own commands are."""
    return engine_of("local") if site.engine == "local" else _slurm_engine(site)


def _slurm_engine(site: Site | None = None) -> Engine:
    from voyageur.engines.slurm import MESSAGE_TIMEOUT, SlurmEngine
    from voyageur.hosts import Here

    return SlurmEngine(Here(), site.message_timeout if site else MESSAGE_TIMEOUT)


def check_can_submit(site: Site) -> None:
    """A script made for one cluster is not given to another."""
    if site.engine != "slurm":
        return
    there = f"log in there{f' ({site.access.login[0]})' if site.access.login else ''} and submit from the same project"
    if not has_slurm():
        raise SiteError(f"this machine cannot submit to {site.name}: it has no `sbatch`", hint=there)
    if clusters := site.fingerprint.cluster:
        from voyageur.engines.slurm import cluster_name
        from voyageur.hosts import Here

        here = cluster_name(Here())
        if here and here not in clusters:
            raise SiteError(
                f"this machine belongs to the cluster {here}, not to {site.name}",
                hint=f"{there}, or submit here with `--on slurm`",
            )


def here() -> Host:
    from voyageur.hosts import Here

    return Here()


def has_slurm() -> bool:
    from shutil import which

    return which("sbatch") is not None


def usual_site() -> str:
    """The cluster that this is, if a profile knows it; Slurm if this machine has it; else the machine itself."""
    from voyageur.site.detect import detect

    if not has_slurm():
        return "local"
    return detect(signs_here(), own_profiles()) or "slurm"


@cache
def signs_here() -> Signs:
    """By files alone: a name server or a controller that is slow must not hold up every command."""
    from voyageur.site.detect import Signs, cluster_in, domain_in

    conf = [environment().get("SLURM_CONF", ""), *_SLURM_CONFS]
    host = os.uname().nodename
    return Signs(
        cluster=next(filter(None, (cluster_in(_text_of(file)) for file in conf if file)), ""),
        host=host.split(".")[0],
        domain=domain_in(_text_of("/etc/resolv.conf"), _text_of("/etc/hosts"), host),
        variables=dict(environment()),
    )


# The last is where slurmd keeps what a controller without configuration files sends it.
_SLURM_CONFS = ("/etc/slurm/slurm.conf", "/etc/slurm-llnl/slurm.conf", "/run/slurm/conf/slurm.conf")


def _text_of(file: str) -> str:
    try:
        return Path(file).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def own_profiles() -> Path:
    return places.sites_folder(environment())


def is_here(site: Site) -> bool:
    """Is this machine that site, as far as it says so?"""
    from voyageur.site.detect import likeness

    return site.name in ("local", "slurm") or (has_slurm() and likeness(site.fingerprint, signs_here()) > 0)


def choose_site(asked: str | None) -> Site:
    from voyageur.site import load_profile, local_site

    name = asked or usual_site()
    if name == "local":
        return local_site()
    if name == "slurm":
        return _slurm_here()
    site = load_profile(name, own_profiles())
    return _completed(site) if is_here(site) else site


def _completed(site: Site) -> Site:
    """What no profile knows of the cluster that this is: how patient its Slurm is, and queues where none are told."""
    from msgspec.structs import replace

    try:
        asked = _slurm_here()
    except ClusterError:  # a profile with queues of its own still makes a plan; sbatch will say what is wrong
        if not site.partitions:
            raise
        return site
    queues = site.queues if site.partitions else asked.queues
    return replace(site, queues=queues, kill_wait=asked.kill_wait, message_timeout=asked.message_timeout)


def _slurm_here() -> Site:
    if not has_slurm():
        raise SiteError(
            "this machine has no Slurm",
            facts=["`sbatch` is not on the PATH"],
            hint="`--on local` runs it on this machine",
        )
    from voyageur.engines.slurm import ask_site
    from voyageur.hosts import Here

    return ask_site(Here())


def runs() -> Runs:
    """Runs are looked for below scratch as this folder's project has it, and wherever the index remembers some."""
    root = places.scratch_folder(_scratch_asked_for(), "$SCRATCH", environment())
    return Runs([Path(root)], index(), engine_of)


def _scratch_asked_for() -> str | None:
    """A project file that cannot be read must not hide the runs that there are; nor must a folder that is gone."""
    try:
        here = Path.cwd()
    except OSError:
        return environment().get("VOY_SCRATCH")
    settings = [folder / name for folder in (here, *here.parents) for name in ("voyageur.toml", "pyproject.toml")]
    user_file = places.user_file(environment())
    if not any(file.is_file() for file in [user_file, *settings]):
        return environment().get("VOY_SCRATCH")
    from voyageur.spec import read_spec

    try:
        return read_spec(
            folder=here, flags={}, environment=environment(), user_file=user_file, usual_site=usual_site()
        ).scratch
    except (VoyageurError, OSError):
        return environment().get("VOY_SCRATCH")
