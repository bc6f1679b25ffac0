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

    It works wherever it is unpacked or mounted: its scripts find their Python beside themselves. `digest` is that of
    its sums (`runtime.staging.sums`), which stand beside it. `base` is the Python that it stands on, which each node
    must have; empty when it brings its own. `finish` is a command to run in it once where it was unpacked, as a packed
    conda environment wants; one that has any cannot be mounted. `packages` are `name==version`, `programs` the names
    in its `bin`, `imports` what Python can import from it. Sizes: of the file, and of what comes out of it.
    """

    key: str
    archive: str
    digest: str
    form: Form
    size: Size
    unpacked: Size
    files: int
    python: str
    base: str
    modules: tuple[str, ...]
    packages: tuple[str, ...]
    site: str
    source: str
    made: float
    programs: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()
    finish: tuple[str, ...] = ()
