"""NVIDIA's Pyxis: srun makes the container, and our part of a task begins inside of it."""

from __future__ import annotations

from voyageur.containers.enroot import enroot_uri, gpu_variables
from voyageur.containers.image import NAME, REGISTRY, SQUASHFS, Image
from voyageur.containers.model import ContainerRuntime, Environment, Inside, Recipe


class Pyxis(ContainerRuntime):
    name = "pyxis"
    title = "NVIDIA's Pyxis, a plugin of srun: squashfs images, and images from a registry"
    program = "srun"
    takes = (SQUASHFS, REGISTRY, NAME)
    in_step = True
    page = "https://github.com/NVIDIA/pyxis#usage"

    def recipe(self, inside: Inside) -> Recipe:
        return Recipe(words=(), environment=Environment.HOST, variables=gpu_variables(inside))

    def step_flags(self, inside: Inside, binds: tuple[str, ...], folder: str) -> tuple[str, ...]:
        return (
            f"--container-image={self.image_words(inside.image)}",
            f"--container-mounts={','.join(f'{path}:{path}' for path in binds)}",
            "--container-workdir=/",
            "--container-writable",
            "--no-container-mount-home",
            "--no-container-remap-root",
            "--no-container-entrypoint",
        )

    def image_words(self, image: Image) -> str:
        return image.said if image.is_path else enroot_uri(image).partition("://")[2]

    def pull(self, program: str, image: Image, target: str) -> tuple[str, ...]:
        return ("enroot", "import", "--output", target, enroot_uri(image))


RUNTIME = Pyxis()
