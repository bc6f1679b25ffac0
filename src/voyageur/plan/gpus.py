"""Which GPU is meant: the site's own word for it, and the only kind there is where nobody says."""

from __future__ import annotations

from msgspec.structs import replace

from voyageur.errors import SiteError
from voyageur.plan.reasons import asked
from voyageur.site import Gpu, Policy, Site
from voyageur.spec import Resources, Spec
from voyageur.spec.keys import nearest


def with_implied_gpu(spec: Spec, site: Site) -> Resources:
    wanted = spec.resources
    if site.engine == "local":
        return replace(wanted, gpu=None)  # models are names of a cluster's; this machine has what it has
    if wanted.gpu and not wanted.gpus and not spec.says("resources.gpus"):
        wanted = replace(wanted, gpus=1)
    if wanted.gpu:
        return replace(wanted, gpu=_own_word(spec, site, wanted.gpu))
    if wanted.gpus and site.request.gpu_type is Policy.REQUIRED:
        return replace(wanted, gpu=_only_kind(site))
    return wanted


def _only_kind(site: Site) -> str:
    """Nobody who says no more than `-g 1` means a slice."""
    whole = site.gpu_names(slices=False) or site.gpu_names()
    if len(whole) == 1:
        return whole[0]
    raise SiteError(
        f"{site.name} wants to know which GPU",
        facts=["it has: " + ", ".join(site.gpu_names())],
        hint="name one with `--gpu-type`",
    )


def _own_word(spec: Spec, site: Site, wanted: str) -> str:
    """`A100` is `a100`, and of several names for one GPU the site's first."""
    kinds = [gpu for partition in site.partitions for gpu in partition.gpus if gpu.name]
    for gpu in kinds:
        if wanted.lower() in [name.lower() for name in (gpu.name, *gpu.also)]:
            return gpu.name
    names = site.gpu_names()
    guess = nearest(wanted, names)
    raise SiteError(
        f"{site.name} has no GPU called `{wanted}`",
        facts=[f"{asked(spec, 'resources.gpu')}; it has: {', '.join(names) or 'none with a name'}"],
        hint=f"did you mean `--gpu-type {guess}`?" if guess else "leave `--gpu-type` out to take any",
    )


def gpu_reason(spec: Spec, site: Site, gpu: Gpu | None) -> str:
    if gpu is None:
        return "no GPU asked for"
    if spec.says("resources.gpu"):
        return asked(spec, "resources.gpu")
    return f"{site.name} wants the model named" if site.request.gpu_type is Policy.REQUIRED else "any GPU will do"
