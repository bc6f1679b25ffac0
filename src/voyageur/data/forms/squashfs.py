"""Squashfs images, made and taken apart by squashfs-tools, through which all goes as one stream."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from typing import BinaryIO

from voyageur.data.forms.form import Chosen, Form, Located, Written, starts_with
from voyageur.data.sources import OTHERS
from voyageur.errors import SpecError
from voyageur.job.data import BrokenPack, tar
from voyageur.job.data.source import FileSource

# `path R time mode uid gid length offset`, since squashfs-tools 4.6 with one more number: whether it has holes
_FILE = re.compile(rb"((?:\\.|[^\\ ])+) R \d+ \d+ \d+ \d+ (\d+) (\d+)(?: \d+)?\n")
_OTHER = re.compile(rb"(?:\\.|[^\\ ])+ [A-QS-Zb-z] ")
_START = b"# START OF DATA - DO NOT MODIFY\n"
_SIZE = re.compile(rb"^-\S+ +\d+/\d+ +(\d+) ", re.MULTILINE)


def _tool(name: str) -> str:
    found = shutil.which(name)
    if not found:
        hint = "apt-get install squashfs-tools  # 4.5 or later"
        raise SpecError(f"{name} is not installed", facts=["it belongs to squashfs-tools"], hint=hint)
    return found


# ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _open(path: str, room: str) -> Located:
    """As one plain file with a table in front: no name in the image ever becomes a file's."""
    plain = os.path.join(room, "squashfs.plain")
    _check_room(path, room)
    _run([_tool("unsquashfs"), "-no-progress", "-quiet", "-force", "-pf", plain, path], path)
    source = FileSource(plain)
    with open(plain, "rb") as file:
        places, others = _table(file, path)
        start = file.tell()
    pack = Located(path, source, {name: (start + offset, size) for name, (size, offset) in places.items()})
    pack.left_out = {OTHERS: others} if others else {}
    return pack


def _check_room(path: str, room: str) -> None:
    """An image of a few bytes can hold files of any size."""
    listed = _run([_tool("unsquashfs"), "-lln", path], path)
    wanted = sum(int(size) for size in _SIZE.findall(listed))
    disk = os.statvfs(room)
    if wanted > disk.f_bavail * disk.f_frsize:
        facts = [f"{wanted} bytes are wanted; {disk.f_bavail * disk.f_frsize} are free"]
        raise SpecError(f"there is no room for {path} in {os.path.dirname(room)}", facts=facts)


def _run(argv: list[str], path: str) -> bytes:
    answer = subprocess.run(argv, capture_output=True, check=False, stdin=subprocess.DEVNULL)
    if answer.returncode:
        facts = answer.stderr.decode(errors="replace").strip().splitlines()[-3:]
        raise BrokenPack(f"{path} cannot be taken apart", facts)
    return answer.stdout


def _table(file: BinaryIO, path: str) -> tuple[dict[bytes, tuple[int, int]], int]:
    places: dict[bytes, tuple[int, int]] = {}
    others = 0
    for line in iter(file.readline, _START):
        found = _FILE.fullmatch(line)
        if found:
            places[re.sub(rb"\\(.)", rb"\1", found[1])] = (int(found[2]), int(found[3]))
        elif not line.startswith((b"#", b"/ ")) and not _OTHER.match(line):
            facts = [repr(line)[1:], "names with a line's end in them cannot be read from an image"]
            raise BrokenPack(f"{path} cannot be taken apart", facts)
        elif not line.startswith((b"#", b"/ ")) and b" D " not in line:
            others += 1
    file.readline()  # the last line of that comment
    return places, others


# ── writing ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _write(chosen: Chosen, path: str, done: Written) -> None:
    moment = str(tar.MOMENT)
    argv = [_tool("sqfstar"), "-quiet", "-no-progress", "-no-xattrs", "-all-root"]
    argv += ["-all-time", moment, "-mkfs-time", moment, "-root-time", moment, "-root-mode", "755", path]
    with tempfile.TemporaryFile() as told:
        code = _fed(argv, _stream(chosen, done), told)
        told.seek(0)
        said = told.read().decode(errors="replace").strip().splitlines()
    if code:
        raise OSError("; ".join(["sqfstar failed", *said[-3:]]))


def _fed(argv: list[str], stream: Iterator[bytes | memoryview], told: BinaryIO) -> int:
    """Its exit code; when it closes its end early, that and what it told say why."""
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=told) as process:
        assert process.stdin
        try:
            with contextlib.suppress(BrokenPipeError):
                for piece in stream:
                    process.stdin.write(piece)
            with contextlib.suppress(BrokenPipeError):
                process.stdin.close()
        except BaseException:
            process.kill()
            raise
    return process.returncode


def _stream(chosen: Chosen, done: Written) -> Iterator[bytes | memoryview]:
    total = 0
    for name, content in chosen:
        head = tar.header(name, len(content))
        yield head
        yield content
        yield tar.padding(len(content))
        total += len(head) + len(content) + -len(content) % tar.BLOCK
        done(1, len(content))
    yield tar.end_of_archive(total)


def _refuses(name: bytes, size: int) -> str:
    if b"\n" in name:
        return "a line's end in its name"
    return "a part of its name is longer than 256 bytes" if max(map(len, name.split(b"/"))) > 256 else ""


def _is_one(path: str) -> bool:
    return starts_with(path, b"hsqs")


FORM = Form(
    name="squashfs",
    endings=(".squashfs", ".sqfs", ".sqsh"),
    is_one=_is_one,
    open=_open,
    write=_write,
    refuses=_refuses,
    is_tree=True,
)
