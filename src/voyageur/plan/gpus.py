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
        return replace(wanted, gpu=_usual_kind(site))
    return wanted


def _usual_kind(site: Site) -> str:
    """The first that the site lists. Nobody who says no more than `-g 1` means a slice."""
    for gpu in _kinds(site):
        if not gpu.slice:
            return gpu.name
    raise SiteError(
        f"{site.name} wants to know which GPU",
        facts=["it has: " + (", ".join(site.gpu_names()) or "none that is known")],
        hint="name one with `--gpu-type`",
    )


def _kinds(site: Site) -> list[Gpu]:
    ordered = sorted(site.partitions, key=lambda partition: not partition.default)
    return [gpu for partition in ordered for gpu in partition.gpus if gpu.name]


def _own_word(spec: Spec, site: Site, wanted: str) -> str:
    """`A100` is `a100`, and of several names for one GPU the site's first."""
    for gpu in _kinds(site):
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
    if site.request.gpu_type is not Policy.REQUIRED:
        return "any GPU will do"
    others = len(site.gpu_names(slices=False)) > 1
    return f"{site.name} wants the model named" + ("; it has others, too: `--gpu-type`" if others else "")
