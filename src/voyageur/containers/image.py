"""What somebody calls an image: a file, a folder, a name in a registry. Read from its text alone."""

from __future__ import annotations

import re

from msgspec import Struct

SIF, SQUASHFS, FOLDER, REGISTRY, NAME, EDF, ARCHIVE = (
    "SIF file", "squashfs image", "unpacked folder", "registry image", "image's name", "EDF file",
    "archive of docker or podman",
)  # fmt: skip
PATHS = (SIF, SQUASHFS, FOLDER, ARCHIVE, EDF)
_ENDINGS = {
    ".sif": SIF, ".simg": SIF, ".sqsh": SQUASHFS, ".sqfs": SQUASHFS, ".squashfs": SQUASHFS,
    ".tar": ARCHIVE, ".tar.gz": ARCHIVE, ".tgz": ARCHIVE, ".toml": EDF,
}  # fmt: skip
_NAME = re.compile(r"[a-z0-9][\w.-]*(:\d+)?(/[\w.-]+)*(:[\w.-]+)?(@sha256:[0-9a-f]{64})?", re.IGNORECASE)


class Image(Struct, frozen=True, kw_only=True):
    """`said` as it was typed; `reference` of a registry image is without its `docker://`."""

    said: str
    kind: str

    @property
    def is_path(self) -> bool:
        return self.kind in PATHS and (self.kind != EDF or "/" in self.said or self.said.endswith(".toml"))

    @property
    def reference(self) -> str:
        return self.said.partition("://")[2] or self.said

    @property
    def digest(self) -> str:
        """Of a registry image that is named by it."""
        return self.said.partition("@")[2]

    @property
    def slug(self) -> str:
        """The reference as a file's name."""
        return re.sub(r"[^A-Za-z0-9.]+", "-", self.reference).strip("-")


def image_named(said: str, is_folder: bool = False, is_file: bool = False) -> Image:
    """`is_folder` and `is_file`: what is there under this name, where somebody has looked."""
    if is_folder:
        return Image(said=said, kind=FOLDER)
    if "://" in said:
        return Image(said=said, kind=REGISTRY)
    lower = said.lower()
    kind = next((kind for ending, kind in _ENDINGS.items() if lower.endswith(ending)), None)
    if kind:
        return Image(said=said, kind=kind)
    looks_like_path = said.startswith(("/", "./", "../", "~", "$")) or said.endswith("/")
    if is_file:
        return Image(said=said, kind=SIF)
    return Image(said=said, kind=FOLDER if looks_like_path or not _NAME.fullmatch(said) else NAME)
