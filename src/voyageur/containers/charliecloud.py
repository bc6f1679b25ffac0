"""Charliecloud. It needs no rights at all, and makes no mount points in an image that is read-only."""

from __future__ import annotations

from voyageur.containers.image import FOLDER, NAME, REGISTRY, SQUASHFS, Image
from voyageur.containers.model import BINDS, ContainerRuntime, Environment, Inside, Recipe


class Charliecloud(ContainerRuntime):
    name = "charliecloud"
    title = "Charliecloud: squashfs images, unpacked on each node, and folders"
    program = "ch-run"
    takes = (SQUASHFS, FOLDER)
    unpacks = (SQUASHFS,)
    page = "https://hpc.github.io/charliecloud/ch-run.html"

    def recipe(self, inside: Inside) -> Recipe:
        return Recipe(
            words=(inside.program, BINDS, "--cd={FOLDER}", "{IMAGE}", "--"),
            bind=("--bind={FROM}:{TO}",),
            environment=Environment.ALL,
            makes_mount_points=True,
            shares_tmp=True,
        )

    def instead(self, image: Image) -> str:
        if image.kind in (REGISTRY, NAME):
            reference = image.reference
            return f"`ch-image pull {reference}`, then `ch-convert {reference} {image.slug}.sqfs`, and name that file"
        return super().instead(image)


RUNTIME = Charliecloud()
