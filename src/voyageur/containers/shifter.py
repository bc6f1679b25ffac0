"""NERSC's Shifter. It takes the environment over as it is, and lets no folder of the image be covered."""

from __future__ import annotations

from voyageur.containers.image import NAME, REGISTRY, Image
from voyageur.containers.model import BINDS, ContainerRuntime, Environment, Inside, Recipe


class Shifter(ContainerRuntime):
    name = "shifter"
    title = "NERSC's Shifter: images that `shifterimg pull` has brought"
    program = "shifter"
    takes = (NAME, REGISTRY)
    page = "https://docs.nersc.gov/development/containers/shifter/how-to-use/"

    def recipe(self, inside: Inside) -> Recipe:
        return Recipe(
            words=(inside.program, "--image={IMAGE}", *self.gpus(inside), BINDS, "--workdir={FOLDER}", "--"),
            bind=("--volume={FROM}:{TO}",),
            environment=Environment.ALL,
            shares_tmp=True,
        )

    def gpus(self, inside: Inside) -> tuple[str, ...]:
        return ("--module=gpu",) if inside.gpus else ()

    def image_words(self, image: Image) -> str:
        return f"docker:{image.reference}"

    def present(self, program: str, image: Image) -> tuple[str, ...]:
        return ("shifterimg", "lookup", image.reference)

    def fetch(self, program: str, image: Image) -> str:
        return f"shifterimg pull {image.reference}"

    def instead(self, image: Image) -> str:
        return "push it to a registry, `shifterimg pull` it there, and name it like `pytorch/pytorch:2.4.0`"


RUNTIME = Shifter()
