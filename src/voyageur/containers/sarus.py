"""CSCS's Sarus. The job's environment goes in, the image's own words win; its hooks bring GPUs and MPI."""

from __future__ import annotations

from voyageur.containers.image import ARCHIVE, NAME, REGISTRY, Image
from voyageur.containers.model import BINDS, ContainerRuntime, Environment, Inside, Recipe


class Sarus(ContainerRuntime):
    name = "sarus"
    title = "CSCS's Sarus: images that `sarus pull` has brought"
    program = "sarus"
    takes = (NAME, REGISTRY)
    page = "https://sarus.readthedocs.io/en/stable/user/user_guide.html"

    def recipe(self, inside: Inside) -> Recipe:
        return Recipe(
            words=(inside.program, "run", BINDS, "--workdir={FOLDER}", "{IMAGE}"),
            bind=("--mount=type=bind,source={FROM},destination={TO}",),
            environment=Environment.ALL,
        )

    def image_words(self, image: Image) -> str:
        return image.reference

    def fetch(self, program: str, image: Image) -> str:
        return f"sarus pull {image.reference}"

    def instead(self, image: Image) -> str:
        if image.kind == ARCHIVE:
            return f"`sarus load {image.said} NAME`, and name it as `sarus images` does"
        return "push it to a registry, `sarus pull` it there, and name it as `sarus images` does"


RUNTIME = Sarus()
