"""The container that the program runs in: by which runtime, how its image comes to the nodes, what it sees."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from voyageur.containers import ContainerRuntime, Image, Inside, by_programs, image_named, names, runtime_named, titles
from voyageur.containers.image import REGISTRY
from voyageur.errors import SiteError, SpecError
from voyageur.launch import Style, Tasks
from voyageur.plan.model import Cargo, Choice, Container, Export, Folders, SeenImage, Shape, Surroundings
from voyageur.plan.reasons import asked
from voyageur.runtime.inside import VARIABLE
from voyageur.runtime.staging.wanted import IMAGE
from voyageur.site import Site
from voyageur.spec import Spec
from voyageur.spec.home import expand_home
from voyageur.spec.keys import nearest

__all__ = ["chosen_runtime", "decide_container", "image_cargo", "refuse_both"]


class Chosen(Struct, frozen=True, kw_only=True):
    runtime: ContainerRuntime
    program: str
    because: str


def refuse_both(spec: Spec) -> None:
    """An image brings its own Python. What is typed for one run wins over a file, and is no contradiction."""
    if spec.env.image and spec.env.venv and "--" not in spec.source("env.image"):
        raise SpecError(
            "a container and a virtual environment are asked for, and the program runs in one of them",
            facts=[
                f"env.image = {spec.env.image!r}, {asked(spec, 'env.image')}",
                f"env.venv = {spec.env.venv!r}, {asked(spec, 'env.venv')}",
            ],
            hint="leave one of them out; what the image lacks goes into the image",
        )
    if not spec.env.image and (lonely := next((key for key in _ONLY_WITH_IMAGE if spec.says(key)), None)):
        raise SpecError(
            f"`{lonely}` says something of a container, and none is asked for",
            facts=[asked(spec, lonely)],
            hint="name its image: `-s IMAGE`, or `image` in the same table",
        )


_ONLY_WITH_IMAGE = ("env.runtime", "env.binds", "env.view")


# ── which runtime ────────────────────────────────────────────────────────────────────────────────────────────────────


def chosen_runtime(spec: Spec, site: Site, image: Image, programs: Mapping[str, str]) -> Chosen:
    """The user's; else the first of the site's that takes such an image; else one that is on this machine."""
    if spec.env.runtime:
        return _asked_for(spec)
    if site.software.containers:
        return _of_the_site(spec, site, image)
    found = by_programs(programs.__contains__)
    fitting = [name for name in found if _named(name).takes_this(image, spec.env.view or "")]
    if fitting or found:
        name = (fitting or found)[0]
        because = "the first that is on this machine" if fitting else "all that is on this machine"
        return replace(_chosen(name, because), program=programs[_named(name).program])
    if site.engine == "local":
        raise SiteError(
            "there is no container runtime on this machine",
            facts=[f"looked for: {', '.join(_named(name).program for name in names() if not _named(name).in_step)}"],
            hint="install Apptainer, or name the program's path with `runtime` under [env]",
        )
    return _chosen("apptainer", f"what most clusters have; no profile says what {site.name} has")


def _chosen(name: str, because: str) -> Chosen:
    runtime = _named(name)
    return Chosen(runtime=runtime, program=runtime.program, because=because)


def _asked_for(spec: Spec) -> Chosen:
    """By name, or by the program's whole path."""
    said = expand_home(spec.env.runtime or "")
    program = said.rpartition("/")[2]
    name = next((name for name in names() if program in (name, _named(name).program)), program)
    runtime = runtime_named(name)
    if runtime is None:
        raise SpecError(
            f"unknown container runtime `{said}`",
            facts=[asked(spec, "env.runtime"), *(f"{name}: {what}" for name, what in titles().items())],
            hint=f"did you mean `{nearest(program, names()) or 'apptainer'}`?",
        )
    return Chosen(
        runtime=runtime,
        program=said if "/" in said else runtime.program,
        because=asked(spec, "env.runtime"),
    )


def _of_the_site(spec: Spec, site: Site, image: Image) -> Chosen:
    """A profile may use words of its own for what we have no name for; those are for people."""
    known = [runtime for name in site.software.containers if (runtime := runtime_named(name))]
    for runtime in known:
        if runtime.takes_this(image, spec.env.view or ""):
            return _chosen(runtime.name, f"what {site.name} has for a {image.kind}")
    if not known:
        return _chosen("apptainer", f"no runtime of {site.name} is known by name")
    raise SiteError(
        f"{site.name} cannot run {image.said}: it is {_article(image.kind)}",
        facts=[f"{runtime.name} takes: {', '.join(runtime.takes)}" for runtime in known],
        hint=known[0].instead(image),
    )


def _article(kind: str) -> str:
    from voyageur.containers.model import article

    return article(kind)


def _named(name: str) -> ContainerRuntime:
    found = runtime_named(name)
    assert found is not None
    return found


# ── the decision ─────────────────────────────────────────────────────────────────────────────────────────────────────


def decide_container(
    spec: Spec, site: Site, around: Surroundings, shape: Shape, folders: Folders, style: Style
) -> Container | None:
    refuse_both(spec)
    if not spec.env.image:
        return None
    seen = around.image or _not_seen(spec)
    image = image_named(seen.path or spec.env.image) if not seen.kind else Image(said=seen.path, kind=seen.kind)
    chosen = chosen_runtime(spec, site, Image(said=spec.env.image, kind=image.kind), around.container_programs)
    inside = _inside(spec, site, shape, image, chosen)
    chosen.runtime.refuse(replace(inside, image=Image(said=spec.env.image, kind=image.kind)))
    _refuse_starter(chosen, style, spec)
    recipe = chosen.runtime.recipe(inside)
    binds = _binds(spec, site, folders)
    return Container(
        image=Choice(value=image.said, because=_because(spec, seen)),
        runtime=Choice(value=chosen.runtime.name, because=chosen.because),
        kind=image.kind,
        digest=seen.digest,
        architecture=seen.architecture,
        stage=_stage(chosen.runtime, image),
        in_step=chosen.runtime.in_step,
        step_flags=chosen.runtime.step_flags(inside, binds, str(folders.run)),
        document=chosen.runtime.document(inside, binds),
        recipe={
            "said": spec.env.image,
            "image": image.said if image.is_path else chosen.runtime.image_words(image),
            **({"sha256": seen.digest.partition(":")[2], "stamp": list(seen.stamp)} if seen.stamp else {}),
            **recipe.as_json(),
            **({"variables": caches} if (caches := _variables(chosen, recipe.variables)) else {}),
            **({"binds": [expand_home(bind) for bind in spec.env.binds]} if spec.env.binds else {}),
        },
    )


def _inside(spec: Spec, site: Site, shape: Shape, image: Image, chosen: Chosen) -> Inside:
    gpu = next((gpu for part in site.partitions for gpu in part.gpus if gpu.is_called(shape.gpu.value)), None)
    vendor = (gpu.vendor if gpu else None) or site.software.gpu_vendor or "nvidia"
    return Inside(
        image=image,
        program=chosen.program,
        gpus=shape.gpus.value,
        vendor=vendor,
        view=spec.env.view or "",
    )


def _not_seen(spec: Spec) -> SeenImage:
    image = image_named(spec.env.image or "")
    return SeenImage(path=image.said, kind=image.kind, digest=image.digest)


def _because(spec: Spec, seen: SeenImage) -> str:
    digest = f"; {seen.digest}" if seen.digest else ""
    brought = f", {spec.env.image} as one file" if "://" in (spec.env.image or "") and seen.kind != REGISTRY else ""
    return f"{asked(spec, 'env.image')}{brought}; {seen.kind}{f', {seen.size}' if seen.size else ''}{digest}"


def _variables(chosen: Chosen, own: dict[str, str]) -> dict[str, str]:
    """The runtime's own files lie in the run's folder on the node."""
    return {**chosen.runtime.caches("{TMP}/cache"), **own}


def _stage(runtime: ContainerRuntime, image: Image) -> str:
    if image.kind in runtime.copies:
        return "copy"
    return "unpack" if image.kind in runtime.unpacks else ""


def _binds(spec: Spec, site: Site, folders: Folders) -> tuple[str, ...]:
    """For runtimes that have to be told before anything is known of the nodes."""
    disk = site.local_disk.path or ""
    found = [str(folders.scratch), "/tmp", *([disk] if disk.startswith("/") and "$" not in disk else [])]  # noqa: S108
    return (*dict.fromkeys(found), *(expand_home(bind) for bind in spec.env.binds))


def _refuse_starter(chosen: Chosen, style: Style, spec: Spec) -> None:
    if chosen.runtime.in_step and style.tasks is not Tasks.NONE and spec.launch.mpi in ("mpirun", "mpiexec"):
        raise SpecError(
            f"{chosen.runtime.name} makes containers with srun, and {spec.launch.mpi} would start the ranks outside",
            facts=[asked(spec, "launch.mpi")],
            hint="leave `launch.mpi` out, or say what srun speaks: `pmix` or `pmi2`",
        )


def image_cargo(container: Container | None, around: Surroundings) -> Cargo | None:
    """One file, which comes to each node's own disk as datasets do: read from shared storage once for all nodes."""
    if container is None or not container.stage:
        return None
    how = "its file" if container.stage == "copy" else "a folder"
    because = f"{container.runtime.value} starts {how} from the node's own disk"
    size = around.image.size if around.image else None
    return Cargo(
        name=IMAGE,
        source=container.image.value,
        what=f"{container.kind}{f', {size}' if size else ''}",
        stage=Choice(value=container.stage, because=because),
        need=size,
    )


def container_export(container: Container | None, exports: Iterable[Export], asked_for: Iterable[str]) -> list[Export]:
    """`pass`: what the script sets goes into the container; PATH and its like only when the user has set them."""
    if container is None:
        return []
    if container.in_step:
        variables = container.recipe.get("variables", {})
        because = f"so that {container.runtime.value} shows the GPUs"
        return [Export(name=name, value=value, because=because) for name, value in variables.items()]
    names = [export.name for export in exports if not export.name.startswith("VOY_") and export.name != "PATH"]
    recipe = {**container.recipe, "staged": bool(container.stage), "pass": list(dict.fromkeys([*names, *asked_for]))}
    because = f"how a command comes into the container, by {container.runtime.value}"
    return [Export(name=VARIABLE, value=json.dumps(recipe), because=because)]
