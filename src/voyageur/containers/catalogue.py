"""The container runtimes by their names. Ours are loaded when used; others' are looked up for a name not ours."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module

from voyageur.containers.model import ContainerRuntime
from voyageur.errors import SpecError

GROUP = "voyageur.container_runtimes"
# Name and title, so that `voy --help` loads none of them; and the program that a machine without a profile must have.
TITLES = {
    "apptainer": "Apptainer: SIF files, squashfs images, folders; registry images are made into one file",
    "singularity": "Singularity and SingularityCE, as Apptainer",
    "charliecloud": "Charliecloud: squashfs images, unpacked on each node, and folders",
    "podman": "Podman: images in its own storage, and folders",
    "podman-hpc": "NERSC's podman-hpc: images that `podman-hpc pull` has brought to scratch",
    "shifter": "NERSC's Shifter: images that `shifterimg pull` has brought",
    "sarus": "CSCS's Sarus: images that `sarus pull` has brought",
    "enroot": "NVIDIA's Enroot without Slurm's help: squashfs images",
    "pyxis": "NVIDIA's Pyxis, a plugin of srun: squashfs images, and images from a registry",
    "edf": "CSCS's Container Engine: an EDF by name or path, squashfs images, images from a registry",
    "uenv": "CSCS's uenv: a stack by name, or its squashfs image",
}
# On a machine that no profile speaks of, in this order.
_PROGRAMS = {
    "apptainer": "apptainer", "singularity": "singularity", "charliecloud": "ch-run", "podman-hpc": "podman-hpc",
    "enroot": "enroot", "podman": "podman", "shifter": "shifter", "sarus": "sarus",
}  # fmt: skip


def runtime_named(name: str) -> ContainerRuntime | None:
    if name in TITLES:
        module = import_module(f"voyageur.containers.{name.replace('-', '_')}")
        runtime: ContainerRuntime = module.RUNTIME
        return runtime
    return next((runtime for known, runtime in _others() if known == name), None)


def names() -> list[str]:
    return list(TITLES)


def titles() -> dict[str, str]:
    return TITLES | {name: runtime.title for name, runtime in _others() if name not in TITLES}


def by_programs(has: Callable[[str], bool]) -> list[str]:
    """The runtimes whose program is there."""
    return [name for name, program in _PROGRAMS.items() if has(program)]


def _others() -> Iterator[tuple[str, ContainerRuntime]]:
    from importlib.metadata import entry_points

    for point in entry_points(group=GROUP):
        try:
            found = point.load()
            runtime = found() if isinstance(found, type) else found
        except Exception as problem:
            raise SpecError(
                f"the container runtime `{point.name}` cannot be loaded: {problem}",
                facts=[f"{point.value}, of the package {point.dist.name if point.dist else 'it came with'}"],
                hint="update that package, or remove it",
            ) from problem
        if isinstance(runtime, ContainerRuntime):
            yield point.name, runtime
