"""CSCS's Container Engine: srun makes the container from an EDF. Ours adds to the user's what a run needs."""

from __future__ import annotations

import json
from collections.abc import Iterator

from voyageur.containers.enroot import enroot_uri
from voyageur.containers.image import EDF, NAME, REGISTRY, SQUASHFS, Image
from voyageur.containers.model import ContainerRuntime, Environment, Inside, Recipe

FILE = "container.toml"


class Edf(ContainerRuntime):
    name = "edf"
    title = "CSCS's Container Engine: an EDF by name or path, squashfs images, images from a registry"
    program = "srun"
    takes = (EDF, SQUASHFS, REGISTRY, NAME)
    in_step = True
    page = "https://docs.cscs.ch/software/container-engine/edf"

    def recipe(self, inside: Inside) -> Recipe:
        return Recipe(words=(), environment=Environment.HOST)

    def takes_this(self, image: Image, view: str) -> bool:
        if view:
            return False
        return image.kind in self.takes and not (image.kind == NAME and any(letter in image.said for letter in "/:@"))

    def step_flags(self, inside: Inside, binds: tuple[str, ...], folder: str) -> tuple[str, ...]:
        return (f"--environment={folder}/{FILE}",)

    def document(self, inside: Inside, binds: tuple[str, ...]) -> str:
        return "".join(f"{line}\n" for line in _lines(inside.image, self.image_words(inside.image), binds))

    def image_words(self, image: Image) -> str:
        return enroot_uri(image).partition("://")[2] if image.kind == REGISTRY else image.said


def _lines(image: Image, words: str, binds: tuple[str, ...]) -> Iterator[str]:
    """A TOML string is written as a JSON one."""
    yield f"{'base_environment' if image.kind in (EDF, NAME) else 'image'} = {json.dumps(words)}"
    yield f"mounts = {json.dumps([f'{path}:{path}' for path in binds])}"
    yield 'workdir = "/"'
    yield "writable = true"


RUNTIME = Edf()
