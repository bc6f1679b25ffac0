"""An environment that has been made: one file, and what is known of it."""

from __future__ import annotations

import enum

from msgspec import Struct

from voyageur.units import Size


class Form(enum.StrEnum):
    """How the one file is made. A tar is unpacked on each node, an image may be mounted."""

    TAR = "tar"
    IMAGE = "squashfs"


class Built(Struct, frozen=True, kw_only=True):
    """`key` names everything it was made from; `archive` holds `bin`, `lib` and `pyvenv.cfg` at its top.

    It works wherever it is unpacked or mounted. `base` is the Python that it stands on, which each node must have;
    empty when it brings its own. `packages` are `name==version`. Sizes: of the file, and of what comes out of it.
    """

    key: str
    archive: str
    checksum: str
    form: Form
    size: Size
    unpacked: Size
    files: int
    python: str
    base: str
    modules: tuple[str, ...]
    packages: tuple[str, ...]
    site: str
