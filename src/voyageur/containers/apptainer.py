"""Apptainer. `--cleanenv` lets in nothing of the host's but TERM and the proxies.

Variables that begin with APPTAINERENV_ would come in, too, but a shell evaluates their values there: `$HOME` in one
would be replaced, and a command in backticks run (Apptainer 1.4.5; `--no-eval` is younger than what sites have).
"""

from __future__ import annotations

from voyageur.containers.image import ARCHIVE, FOLDER, REGISTRY, SIF, SQUASHFS, Image
from voyageur.containers.model import BINDS, ContainerRuntime, Inside, Recipe


class Apptainer(ContainerRuntime):
    name = "apptainer"
    title = "Apptainer: SIF files, squashfs images, folders; registry images are made into one file"
    program = "apptainer"
    takes = (SIF, SQUASHFS, FOLDER, REGISTRY)
    copies = (SIF, SQUASHFS)
    page = "https://apptainer.org/docs/user/latest/cli/apptainer_exec.html"
    no_mounts: tuple[str, ...] = ("--no-mount", "home,cwd")

    def recipe(self, inside: Inside) -> Recipe:
        return Recipe(
            words=(
                inside.program, "--quiet", "exec", "--cleanenv", *self.no_mounts, "--home", "{HOME}", BINDS,
                *("--pwd", "{FOLDER}"), *self.gpus(inside), "{IMAGE}",
            ),
            bind=("--bind", "{FROM}:{TO}"),
            variables={f"{self.name.upper()}_CONFIGDIR": "{TMP}/cache"},
        )  # fmt: skip

    def gpus(self, inside: Inside) -> tuple[str, ...]:
        """They bring the driver of the node into the container. CUDA_VISIBLE_DEVICES says which GPUs, as outside."""
        if not inside.gpus:
            return ()
        return ("--rocm",) if inside.vendor == "amd" else ("--nv",)

    def pull(self, program: str, image: Image, target: str) -> tuple[str, ...]:
        return (program, "pull", "--force", target, image.said)

    def caches(self, folder: str) -> dict[str, str]:
        kind = self.name.upper()
        return {f"{kind}_CACHEDIR": folder, f"{kind}_TMPDIR": folder}

    def instead(self, image: Image) -> str:
        if image.kind == ARCHIVE:
            return f"make a SIF file of it: `{self.program} build image.sif docker-archive:{image.said}`"
        return super().instead(image)


RUNTIME = Apptainer()
