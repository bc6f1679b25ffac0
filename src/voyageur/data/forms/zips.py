"""Zip archives, not compressed: so their members can be read in place."""

from __future__ import annotations

import zipfile

from voyageur.data.forms.form import Chosen, Form, Written, starts_with
from voyageur.job.data import ZipPack

_MOMENT = (2001, 9, 9, 1, 46, 40)  # as in a pack
_PIECE = 4 << 20


def _write(chosen: Chosen, path: str, done: Written) -> None:
    with zipfile.ZipFile(path, "x", zipfile.ZIP_STORED, allowZip64=True) as archive:
        for name, content in chosen:
            about = zipfile.ZipInfo(name.decode(), _MOMENT)
            about.external_attr = 0o100644 << 16
            about.file_size = len(content)
            with archive.open(about, "w") as member:
                for start in range(0, len(content), _PIECE):
                    member.write(content[start : start + _PIECE])
            done(1, len(content))


def _refuses(name: bytes, size: int) -> str:
    try:
        name.decode()
    except UnicodeDecodeError:
        return "its name is not UTF-8"
    return ""


def _is_one(path: str) -> bool:
    return starts_with(path, b"PK\x03\x04") or starts_with(path, b"PK\x05\x06")


FORM = Form(
    name="zip",
    endings=(".zip",),
    is_one=_is_one,
    open=lambda path, room: ZipPack(path),
    write=_write,
    refuses=_refuses,
    each=1024,
)
