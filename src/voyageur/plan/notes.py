"""What people should know of a plan that goes ahead all the same."""

from __future__ import annotations

import re
from collections.abc import Iterator

from voyageur.plan.model import Surroundings
from voyageur.plan.packages import is_made_in_job
from voyageur.plan.words import check_words
from voyageur.site import Site
from voyageur.spec import Spec

_SECRET = re.compile(r"(?:^|_)(?:TOKEN|KEY|APIKEY)$|PASSWORD|PASSWD|SECRET", re.IGNORECASE)


def notes_on(spec: Spec, site: Site, around: Surroundings) -> Iterator[str]:
    yield from check_words(spec.command)
    if not spec.env.image:
        yield from _conda(spec, around)
    yield from _secret_variables(spec)
    yield from _gpu_of_a_cluster(spec, site)
    yield from _nodes_of_one_machine(spec, site)
    yield from _account_in_the_shell(spec, site, around)


def _conda(spec: Spec, around: Surroundings) -> Iterator[str]:
    if around.conda and not around.active_venv and not around.environment and not is_made_in_job(spec):
        yield (
            f"the conda environment {around.conda} is active here but is not taken into the job; "
            "say what it needs (`env.requirements`), or set `env.venv`"
        )


def _secret_variables(spec: Spec) -> Iterator[str]:
    for name in spec.env.variables:
        if _SECRET.search(name):
            yield (
                f"{name} ({spec.source('env.variables')}) looks like a secret, and its value stands in the script; "
                f'with `env.secrets = ["{name}"]` it is taken from your shell and written into no script'
            )


def _gpu_of_a_cluster(spec: Spec, site: Site) -> Iterator[str]:
    if site.engine == "local" and spec.resources.gpu:
        yield (
            f"`{spec.resources.gpu}` (asked for by {spec.source('resources.gpu')}) is the name of a cluster's GPU and "
            "means nothing on this machine; `--gpus` asks for some"
        )


def _nodes_of_one_machine(spec: Spec, site: Site) -> Iterator[str]:
    if site.engine == "local" and spec.resources.nodes > 1 and spec.resources.gpus:
        yield (
            f"the {spec.resources.nodes} nodes are this one machine, and all of them use the same GPUs; "
            "NCCL refuses two ranks on one GPU"
        )


def _account_in_the_shell(spec: Spec, site: Site, around: Surroundings) -> Iterator[str]:
    """For sbatch they win over what stands in a script, so they are taken away before it is called."""
    if site.engine == "local":
        return
    for name, value in around.account_variables.items():
        if value != spec.account:
            yield f"{name}={value} in your shell does not count here; `--account {value}` charges that one"
