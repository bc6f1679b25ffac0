"""Podman, rootless. Nothing of the host's environment comes in unasked."""

from __future__ import annotations

from voyageur.containers.image import ARCHIVE, FOLDER, NAME, REGISTRY, Image
from voyageur.containers.model import BINDS, ContainerRuntime, Inside, Recipe


class Podman(ContainerRuntime):
    name = "podman"
    title = "Podman: images in its own storage, and folders"
    program = "podman"
    takes: tuple[str, ...] = (NAME, REGISTRY, FOLDER)
    page = "https://docs.podman.io/en/latest/markdown/podman-run.1.html"

    def recipe(self, inside: Inside) -> Recipe:
        return Recipe(
            words=(
                inside.program, "run", "--rm", "--pull=never", *self.namespaces(), *self.gpus(inside),
                *("--workdir", "{FOLDER}"), BINDS, *("--entrypoint", ""), *self.image(inside),
            ),
            bind=("--volume", "{FROM}:{TO}"),
        )  # fmt: skip

    def namespaces(self) -> tuple[str, ...]:
        """The node's own network, processes and shared memory, which the ranks of a node share."""
        return ("--network=host", "--pid=host", "--ipc=host", "--userns=keep-id", "--security-opt=label=disable")

    def gpus(self, inside: Inside) -> tuple[str, ...]:
        if not inside.gpus:
            return ()
        return (
            ("--device=/dev/kfd", "--device=/dev/dri") if inside.vendor == "amd" else ("--device=nvidia.com/gpu=all",)
        )

    def image(self, inside: Inside) -> tuple[str, ...]:
        return ("--rootfs", "{IMAGE}") if inside.image.kind == FOLDER else ("{IMAGE}",)

    def image_words(self, image: Image) -> str:
        return image.reference

    def present(self, program: str, image: Image) -> tuple[str, ...]:
        return () if image.kind == FOLDER else (program, "image", "exists", image.reference)

    def fetch(self, program: str, image: Image) -> str:
        return f"{program} pull {image.reference}"

    def instead(self, image: Image) -> str:
        if image.kind == ARCHIVE:
            return f"`{self.program} load --input {image.said}`, and name the image as `{self.program} images` does"
        return f"name it as `{self.program} images` does"


RUNTIME = Podman()
