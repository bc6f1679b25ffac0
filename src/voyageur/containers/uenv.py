"""CSCS's uenv: a whole stack in one squashfs image, mounted over the node's own files. Nothing else is hidden."""

from __future__ import annotations

from voyageur.containers.image import NAME, SQUASHFS, Image
from voyageur.containers.model import ContainerRuntime, Environment, Inside, Recipe


class Uenv(ContainerRuntime):
    name = "uenv"
    title = "CSCS's uenv: a stack by name, or its squashfs image"
    program = "uenv"
    takes = (NAME, SQUASHFS)
    page = "https://docs.cscs.ch/software/uenv/using"

    def recipe(self, inside: Inside) -> Recipe:
        view = (f"--view={inside.view}",) if inside.view else ()
        return Recipe(words=(inside.program, "run", *view, "{IMAGE}", "--"), environment=Environment.HOST)

    def takes_this(self, image: Image, view: str) -> bool:
        """`prgenv-gnu/24.11:v1`; the name of an EDF has neither a slash nor a colon."""
        if image.kind == SQUASHFS:
            return bool(view)
        return image.kind == NAME and any(letter in image.said for letter in "/:@")

    def present(self, program: str, image: Image) -> tuple[str, ...]:
        return (program, "image", "inspect", image.said) if image.kind == NAME else ()

    def fetch(self, program: str, image: Image) -> str:
        return f"uenv image pull {image.said}"


RUNTIME = Uenv()
