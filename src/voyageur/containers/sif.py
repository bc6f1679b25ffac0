"""The beginning of an image file: what it is, for which processor, how long it has to be."""

from __future__ import annotations

import struct

from msgspec import Struct

HEAD = 128 + 48 * 1024  # the global header, and the descriptors of the parts

# Of the header: `launch[32] magic[10] version[3] arch[3] uuid[16]` and eight numbers.
# sylabs/sif, pkg/sif/sif.go: the format is append-only and has not changed since version 1.
_HEADER = struct.Struct("<32s10s3s3s16s8q")
_ARCHITECTURES = {
    b"01": "i386", b"02": "x86_64", b"03": "arm", b"04": "aarch64", b"05": "ppc64", b"06": "ppc64le", b"11": "s390x",
    b"12": "riscv64",
}  # fmt: skip
_SQUASHFS = b"hsqs"
_MACHINES = {3: "i386", 40: "arm", 62: "x86_64", 183: "aarch64", 21: "ppc64le", 243: "riscv64"}  # e_machine of elf.h


class Head(Struct, frozen=True, kw_only=True):
    kind: str
    architecture: str | None = None
    least: int = 0  # bytes; a file that is shorter was not copied whole


def head_of(start: bytes) -> Head | None:
    """None for what is neither a SIF file nor a squashfs image."""
    if start[:4] == _SQUASHFS and len(start) >= 48:
        return Head(kind="squashfs image", least=struct.unpack_from("<Q", start, 40)[0])
    if len(start) < _HEADER.size:
        return None
    _, magic, _, code, _, *numbers = _HEADER.unpack_from(start)
    if magic[:9] != b"SIF_MAGIC":
        return None
    _, _, _, _, _, _, data_at, data_size = numbers
    return Head(kind="SIF file", architecture=_ARCHITECTURES.get(code[:2]), least=data_at + data_size)


def machine_of(program: bytes) -> str | None:
    """The processor that an ELF file is for."""
    if program[:4] != b"\x7fELF" or len(program) < 20:
        return None
    order = "<" if program[5] == 1 else ">"
    return _MACHINES.get(struct.unpack_from(order + "H", program, 18)[0])
