"""NVIDIA's Enroot, where Slurm has no plugin for it. A squashfs image is started as it is (Linux 4.18 or newer)."""

from __future__ import annotations

from voyageur.containers.image import REGISTRY, SQUASHFS, Image
from voyageur.containers.model import BINDS, ContainerRuntime, Inside, Recipe


class Enroot(ContainerRuntime):
    name = "enroot"
    title = "NVIDIA's Enroot without Slurm's help: squashfs images"
    program = "enroot"
    takes = (SQUASHFS, REGISTRY)
    copies = (SQUASHFS,)
    page = "https://github.com/NVIDIA/enroot/blob/master/doc/cmd/start.md"

    def recipe(self, inside: Inside) -> Recipe:
        variables = gpu_variables(inside)
        names = [word for name in variables for word in ("--env", name)]
        return Recipe(
            words=(inside.program, "start", "--rw", BINDS, *names, "--rc", "{RC}", "{IMAGE}"),
            # The fields of a line of fstab, with colons.
            bind=("--mount", "{FROM}:{TO}:none:x-create=auto,rbind"),
            variables=variables,
        )

    def pull(self, program: str, image: Image, target: str) -> tuple[str, ...]:
        return (program, "import", "--output", target, enroot_uri(image))

    def caches(self, folder: str) -> dict[str, str]:
        return {"ENROOT_CACHE_PATH": folder, "ENROOT_DATA_PATH": folder, "ENROOT_TEMP_PATH": folder}


def enroot_uri(image: Image) -> str:
    """`docker://nvcr.io/nvidia/pytorch:24.05` as Enroot spells it: its registry ends with `#`."""
    scheme, _, reference = image.said.rpartition("://")
    host, slash, rest = reference.partition("/")
    if slash and ("." in host or ":" in host):
        reference = f"{host}#{rest}"
    return f"{scheme or 'docker'}://{reference}"


def gpu_variables(inside: Inside) -> dict[str, str]:
    """Its hook for NVIDIA looks at them (standard-hooks.md, 98-nvidia.sh). CUDA_VISIBLE_DEVICES chooses among them."""
    if not inside.gpus:
        return {}
    return {"NVIDIA_VISIBLE_DEVICES": "all", "NVIDIA_DRIVER_CAPABILITIES": "compute,utility"}


RUNTIME = Enroot()
