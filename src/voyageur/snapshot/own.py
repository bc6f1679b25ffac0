"""What runs put into the project itself when scratch lies in it, or it on scratch: their files are no code."""

from __future__ import annotations

import os
from pathlib import Path, PurePath

from msgspec import Struct

from voyageur.runtime.folder import RUNS

BECAUSE = "a run's own files"
OF_IMAGE = "the container's image: it comes to the nodes by itself"
_CHECKPOINTS = "checkpoints"
_PROGRAMS = (".py", ".sh", ".jl", ".R")


class OwnFiles(Struct, frozen=True, kw_only=True):
    """`folders` lie below the project; `among_code`: the project's folder on scratch is the project itself.

    `image` is the container's, a file or a folder, where it lies in the project.
    """

    folders: tuple[str, ...] = ()
    image: str | None = None
    among_code: bool = False

    def folder_of(self, name: str) -> str | None:
        """The folder of runs that a file or folder lies in, or is; or the image."""
        parts = name.split("/")
        if self.image and f"{name}/".startswith(f"{self.image}/"):
            return self.image
        if RUNS in parts:
            return "/".join(parts[: parts.index(RUNS) + 1])
        return next((folder for folder in self.folders if f"{name}/".startswith(f"{folder}/")), None)

    def checkpoints_of(self, name: str) -> str | None:
        """EXPERIMENT/checkpoints; a package may have a folder of that name, so programs in it are code."""
        parts = name.split("/")
        is_one = self.among_code and len(parts) > 2 and parts[1] == _CHECKPOINTS
        return "/".join(parts[:2]) if is_one and not name.endswith(_PROGRAMS) else None


def own_files(root: Path, *, scratch: PurePath, project_scratch: PurePath, image: str = "") -> OwnFiles:
    """Links are followed first: `~/scratch` is one on most clusters."""
    top = os.path.realpath(root)
    places = [os.path.realpath(place) for place in (scratch, project_scratch)]
    inside = [os.path.relpath(place, top) for place in places if place.startswith(f"{top}/")]
    own_image = os.path.relpath(image, top) if image.startswith(f"{top}/") else None
    return OwnFiles(folders=tuple(inside), among_code=places[1] == top, image=own_image)
