"""NERSC's podman-hpc: Podman with images that are kept as squashfs on scratch, for all nodes."""

from __future__ import annotations

from voyageur.containers.image import NAME, REGISTRY
from voyageur.containers.model import Inside
from voyageur.containers.podman import Podman


class PodmanHpc(Podman):
    name = "podman-hpc"
    title = "NERSC's podman-hpc: images that `podman-hpc pull` has brought to scratch"
    program = "podman-hpc"
    takes = (NAME, REGISTRY)
    page = "https://docs.nersc.gov/development/containers/podman-hpc/overview/"

    def namespaces(self) -> tuple[str, ...]:
        """It brings its own word for users and security."""
        return ("--network=host", "--pid=host", "--ipc=host")

    def gpus(self, inside: Inside) -> tuple[str, ...]:
        return ("--gpu",) if inside.gpus else ()


RUNTIME = PodmanHpc()
