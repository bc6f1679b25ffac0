"""What a container runtime says of itself: one class, and one small file for each that there is.

A runtime is data, as a launch style is. What it says stands in the script for everybody to read; `runtime.inside` fills
in what only the nodes know: where the image is, which folders have to be seen, who the task is.

    {IMAGE}   the image on this node        {FOLDER}  where the command starts
    {HOME}    a home on the node's disk     {BINDS}   for each folder, the words of `bind` with {FROM} and {TO}
    {TMP}     the run's folder on the node, in the values of `variables`
    {RC}      a script that does nothing but start its arguments, in the place of an entrypoint

Variables are never words of a command line, which everybody on the node may read. They come in by a private file that
the first shell in the container reads and removes.
"""

from __future__ import annotations

import enum
from typing import Any

from msgspec import Struct, field

from voyageur.containers.image import NAME, REGISTRY, Image
from voyageur.errors import SpecError

BINDS = "{BINDS}"


class Environment(enum.StrEnum):
    """What of the host's variables the runtime lets in by itself.

    NONE: it is told to let in none, or does so unasked. ALL: it lets in what it was started with, so it is started with
    no others than those that belong inside. HOST: all of the job's, for a runtime that hides nothing of the host.
    """

    NONE = "none"
    ALL = "all"
    HOST = "host"


class Inside(Struct, frozen=True, kw_only=True):
    """What a runtime is told of the wish and the place. `program` is its name or path; `gpus` are those of a node."""

    image: Image
    program: str
    gpus: int = 0
    vendor: str = "nvidia"
    view: str = ""


class Recipe(Struct, frozen=True, kw_only=True):
    """How a command comes into the container on a node, with blanks.

    `variables` are for the runtime itself. `makes_mount_points`: it cannot, so we do it, in an image that is a folder.
    `shares_tmp`: it shows the node's /tmp in any case, and takes no mount below it.
    """

    words: tuple[str, ...]
    bind: tuple[str, ...] = ()
    environment: Environment = Environment.NONE
    variables: dict[str, str] = field(default_factory=dict)
    makes_mount_points: bool = False
    shares_tmp: bool = False

    def as_json(self) -> dict[str, Any]:
        found = {key: getattr(self, key) for key in self.__struct_fields__}
        return {key: list(value) if isinstance(value, tuple) else value for key, value in found.items() if value}


class ContainerRuntime:
    """The interface; what is written here is what most runtimes do.

    `programs` are looked for on a machine that no profile speaks of. `takes` are kinds of images; those that it
    `copies` come to each node's own disk as they are, those that it `unpacks` as folders. `in_step`: srun itself makes
    the container, so `step_flags` are its words.
    """

    name = ""
    title = ""
    program = ""
    takes: tuple[str, ...] = ()
    copies: tuple[str, ...] = ()
    unpacks: tuple[str, ...] = ()
    in_step = False
    page = ""  # the documentation that the words come from

    def recipe(self, inside: Inside) -> Recipe:
        raise NotImplementedError

    def step_flags(self, inside: Inside, binds: tuple[str, ...], folder: str) -> tuple[str, ...]:
        return ()

    def document(self, inside: Inside, binds: tuple[str, ...]) -> str:
        """A file that the runtime reads beside its words; the script writes it into the run's folder."""
        return ""

    def takes_this(self, image: Image, view: str) -> bool:
        """Where a site has several runtimes, the first that says yes is taken."""
        return image.kind in self.takes

    def image_words(self, image: Image) -> str:
        """The image as this runtime wants to hear it, where it is no file of ours."""
        return image.said

    def pull(self, program: str, image: Image, target: str) -> tuple[str, ...]:
        """The command that makes one file of a registry image; empty where the runtime keeps images itself."""
        return ()

    def fetch(self, program: str, image: Image) -> str:
        """What a user types so that the runtime has the image itself."""
        return ""

    def present(self, program: str, image: Image) -> tuple[str, ...]:
        """The command that ends with 0 when the runtime has the image; empty where nobody can ask."""
        return ()

    def caches(self, folder: str) -> dict[str, str]:
        """Variables that keep the runtime's own files out of home."""
        return {}

    def refuse(self, inside: Inside) -> None:
        """Raises SpecError for what cannot work."""
        if inside.image.kind not in self.takes:
            raise SpecError(
                f"{self.name} cannot run {inside.image.said}: it is {article(inside.image.kind)}",
                facts=[f"{self.name} takes: {', '.join(self.takes)}"],
                hint=self.instead(inside.image),
            )

    def instead(self, image: Image) -> str:
        """What to type when the image is of a kind that this runtime does not take."""
        if image.kind == NAME and REGISTRY in self.takes:
            return f"for the image of that name at Docker Hub write `docker://{image.said}`"
        return f"make one of these of it: {', '.join(self.takes)}"


def article(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aeiouE" else f"a {kind}"
