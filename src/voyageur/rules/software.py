"""What programs are made for, and which modules they find."""

from __future__ import annotations

from collections.abc import Iterator

from voyageur.findings import Finding, Level
from voyageur.rules.model import Advice, Case, Check, Rule
from voyageur.rules.reading import gpu_of, is_cluster, starts, value_of
from voyageur.site import Policy

ARCHITECTURE = Rule(
    id="architecture",
    numbers=(48,),
    level=Level.ERROR,
    because="programs, wheels and images made for one kind of processor or GPU do not start on another",
    fix="make it anew on the cluster",
    source="CSCS, TACC and LUMI documentation: hardware",
)
CLEAN_START = Rule(
    id="clean-start",
    numbers=(49,),
    level=Level.WARNING,
    because="a job should find the same software tomorrow, whatever the shell that submits it has loaded",
    fix="name modules with their versions",
    source="Alliance documentation: Running jobs, Trillium quickstart",
)
MODULES = Rule(
    id="modules",
    numbers=(51,),
    level=Level.ERROR,
    because="a job that cannot load its modules ends at once",
    fix="`module spider NAME` lists the versions there are",
    source="Alliance documentation: Standard software environments; user notes on JUPITER",
)

_SAME = {"arm64": "aarch64", "amd64": "x86_64"}
_OF_NVIDIA = ("cuda", "cudnn", "nccl", "nvhpc", "tensorrt")


# ── what it runs on ──────────────────────────────────────────────────────────────────────────────────────────────────


def architecture(case: Case) -> Iterator[Finding]:
    theirs, ours = case.site.software.architecture, case.known.architecture
    if not (theirs and ours and is_cluster(case)) or _SAME.get(ours, ours) == _SAME.get(theirs, theirs):
        return
    source, activate = case.site.software.source, case.plan.activate.value
    if activate and not case.spec.says("env.venv"):
        folder = activate.removesuffix("/bin/activate")
        what = f"{folder} was made on {ours}, and {case.site.name} is {theirs}"
        fix = "make one on the cluster, and name it with `env.venv`"
        yield ARCHITECTURE.broken(what, fix=fix, source=source)
    for word in case.plan.command:
        if word.endswith(".sif"):
            what = f"{word} is an image from here ({ours}), and {case.site.name} is {theirs}"
            yield ARCHITECTURE.broken(what, fix=f"build it for {theirs}", source=source)


def image(case: Case) -> Iterator[Finding]:
    """What the image's own beginning says; on this machine it is an error of its own."""
    theirs, container = case.site.software.architecture, case.plan.container
    made_for = container.architecture if container else None
    if not (container and made_for and theirs and is_cluster(case)) or made_for == _SAME.get(theirs, theirs):
        return
    what = f"the image {container.image.value} is for {made_for}, and {case.site.name} is {theirs}"
    yield ARCHITECTURE.broken(what, fix=f"build it for {theirs}", source=case.site.software.source)


def gpu_vendor(case: Case) -> Iterator[Finding]:
    gpu = gpu_of(case)
    vendor = (gpu.vendor if gpu else None) or case.site.software.gpu_vendor
    if vendor != "amd" or not case.plan.shape.gpus.value:
        return
    source = case.site.software.source
    for module in case.plan.modules.value:
        if module.split("/")[0].lower() in _OF_NVIDIA:
            what = f"the module {module} is for GPUs of NVIDIA, and these are of AMD"
            yield ARCHITECTURE.broken(what, fix=f"leave {module} out, and use a build for ROCm", source=source)
    if starts(case, "apptainer", "singularity") and "--nv" in case.plan.command:
        what = "`--nv` brings NVIDIA's driver into the container, and these GPUs are of AMD"
        yield ARCHITECTURE.broken(what, fix="`--rocm`", source=source)


def instructions(case: Case) -> Iterator[Finding]:
    """`AVX2, no AVX-512`: what stands behind a `no` is what the processors lack."""
    lacking = (case.site.software.instructions or "").partition("no ")[2].replace("-", "").lower()
    for module in case.plan.modules.value:
        if lacking and module.lower() == f"arch/{lacking}":
            what = f"the module {module} wants {lacking}: {case.site.name} has {case.site.software.instructions}"
            yield ARCHITECTURE.broken(what, fix=f"leave {module} out", source=case.site.software.source)


# ── modules ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def clean_start(case: Case) -> Iterator[Finding]:
    if not is_cluster(case):
        return
    if loose := [name for name in case.spec.env.modules or () if "/" not in name]:
        what = f"without a version: {', '.join(loose)} ({case.spec.source('env.modules')})"
        fix = f"`module spider {loose[0]}` lists the versions; write one like `{loose[0]}/VERSION`"
        yield CLEAN_START.broken(what, fix=fix)
    if case.site.request.export is Policy.FORBIDDEN and (names := value_of(case, "--export")) is not None:
        what = f"`--export={names}` is given, and {case.site.name} asks not to"
        yield CLEAN_START.broken(
            what, because="jobs there need more of the shell", fix="leave it out", source=case.site.request.source
        )


def modules(case: Case) -> Iterator[Finding]:
    for name in case.plan.modules.value:
        if name in case.known.missing_modules:
            fix = f"`module spider {name.split('/')[0]}` lists the versions there are"
            yield MODULES.broken(f"{case.site.name} has no module {name}", fix=fix)
        elif name.startswith(case.site.software.blocked):
            usual = ", ".join(case.site.software.modules)
            yield MODULES.broken(
                f"{case.site.name} blocks {name}",
                level=Level.WARNING,
                fix=usual and f"use {usual}",
                source=case.site.software.source,
            )


RULES = (ARCHITECTURE, CLEAN_START, MODULES)
CHECKS: tuple[Check, ...] = (architecture, image, gpu_vendor, instructions, clean_start, modules)
ADVICE: tuple[Advice, ...] = ()
