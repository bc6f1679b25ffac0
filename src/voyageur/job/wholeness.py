"""Is a file that some program was writing when it was killed a whole one? Told without unpickling anything.

Whoever loads a pickle runs what it says; so a checkpoint is never loaded here. Most formats say how long they are.
"""

import json
import os
import struct
import time
import zipfile
import zlib
from typing import BinaryIO, Callable, Optional

_SETTLED_SECONDS = 5.0  # a file that was written to more recently may still be growing
_LOOK_AGAIN = 0.5
_FRAMED_PICKLES = (b"\x80\x04\x95", b"\x80\x05\x95")
_ZIP, _HDF5, _NPY, _GZIP = b"PK\x03\x04", b"\x89HDF\r\n\x1a\n", b"\x93NUMPY", b"\x1f\x8b"
_MAGICS = (_ZIP, _HDF5, _NPY, _GZIP, *_FRAMED_PICKLES)
_JSON_LIMIT = 64 << 20
_PICKLE_LIMIT = 256 << 20
_OF_TRAINER = {"training_args.bin", "optimizer.pt", "scheduler.pt"}


def why_not_whole(path: str) -> Optional[str]:
    """None for a file, or a folder of files, of which nothing speaks against its being whole."""
    try:
        if os.path.isdir(path):
            return _folder(path)
        return _file(path)
    except OSError as problem:
        return "it cannot be read: %s" % (problem.strerror or problem)


def _folder(path: str) -> Optional[str]:
    """Some programs write a folder for each checkpoint; it is as whole as its files."""
    seen = 0
    for folder, _, names in os.walk(path):
        for name in names:
            seen += 1
            wrong = _file(os.path.join(folder, name), may_be_empty=True)
            if wrong:
                return "%s: %s" % (os.path.relpath(os.path.join(folder, name), path), wrong)
    return _trainer(path) if seen else "it is empty"


def _trainer(path: str) -> Optional[str]:
    """The Trainer of Hugging Face writes its own state last (`Trainer._save_checkpoint`, 5.23)."""
    names = set(os.listdir(path))
    if names & _OF_TRAINER and "trainer_state.json" not in names:
        return "it has no trainer_state.json, which the Trainer writes last"
    return None


def _file(path: str, may_be_empty: bool = False) -> Optional[str]:
    size = os.stat(path).st_size
    if size == 0:
        return None if may_be_empty else "it is empty"
    if _is_growing(path):
        return "it is still being written"
    with open(path, "rb") as file:
        head = file.read(16)
        if size < 16 and any(len(head) < len(magic) and magic.startswith(head) for magic in _MAGICS):
            return "it is cut off"
        check = _check_for(path, head)
        file.seek(0)
        return check(file, size) if check else None


def _is_growing(path: str) -> bool:
    before = os.stat(path)
    if abs(time.time() - before.st_mtime) > _SETTLED_SECONDS:
        return False
    time.sleep(_LOOK_AGAIN)
    after = os.stat(path)
    return (after.st_size, after.st_mtime_ns) != (before.st_size, before.st_mtime_ns)


def _check_for(path: str, head: bytes) -> "Optional[Callable[[BinaryIO, int], Optional[str]]]":
    """By its first bytes, and by its name only where a format has none: names are the program's to choose."""
    if head.startswith(_ZIP):
        return _zip
    if head.startswith(_HDF5):
        return _hdf5
    if head.startswith(_NPY):
        return _npy
    if head.startswith(_GZIP):
        return _gzip
    if path.endswith(".safetensors"):
        return _safetensors
    if path.endswith(".json"):
        return _json
    if head.startswith(_FRAMED_PICKLES) or (head[:1] == b"\x80" and path.endswith((".pkl", ".pickle"))):
        return _pickle
    return None


def _zip(file: BinaryIO, _: int) -> Optional[str]:
    """PyTorch's own format, Lightning's, Keras's and NumPy's .npz: the directory stands at the end, with checksums."""
    try:
        with zipfile.ZipFile(file) as archive:
            bad = archive.testzip()
        return "its part %s is damaged" % bad if bad else None
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError) as problem:
        return "it is cut off or damaged (%s)" % problem


def _safetensors(file: BinaryIO, size: int) -> Optional[str]:
    """Eight bytes of length, a JSON header with the place of each tensor, the tensors."""
    start = file.read(8)
    length = struct.unpack("<Q", start)[0] if len(start) == 8 else size
    if length > size - 8:
        return "its header is cut off"
    try:
        header = json.loads(file.read(length).decode("utf-8"))
        ends = [int(facts["data_offsets"][1]) for name, facts in header.items() if name != "__metadata__"]
    except (ValueError, KeyError, TypeError, AttributeError, IndexError):
        return "its header is damaged"
    return _ends_at(8 + length + max(ends, default=0), size)


def _hdf5(file: BinaryIO, size: int) -> Optional[str]:
    """The superblock says where the file ends, and whether somebody has it open for writing; see the HDF5 File Format
    Specification, II.A. A program that was killed leaves the end of its last flush there, often of the very first."""
    head = file.read(64)
    if len(head) < 64:
        return "it is cut off"
    version, width, is_open = head[8], 0, False
    if version in (0, 1):
        width, place, is_open = head[13], 24 if version == 0 else 28, bool(head[20] & 1)
        place += 2 * width  # behind the base address and that of the free space
    elif version in (2, 3):
        width, place, is_open = head[9], 12, bool(head[11] & 1)
        place += 2 * width
    if width not in (4, 8):
        return None  # a version of which nothing is known here
    wanted = int.from_bytes(head[place : place + width], "little")
    if is_open and (version == 3 or size > wanted):  # of version 3 the library itself opens none that was not closed
        return "it was never closed"
    return _ends_at(wanted, size)


def _npy(file: BinaryIO, size: int) -> Optional[str]:
    import ast

    head = file.read(12)
    if len(head) < 12:
        return "its header is cut off"
    wide = head[6] >= 2
    length = struct.unpack("<I", head[8:12])[0] if wide else struct.unpack("<H", head[8:10])[0]
    start = 12 if wide else 10
    file.seek(start)
    try:
        facts = ast.literal_eval(file.read(length).decode("latin-1"))
        items = 1
        for extent in facts["shape"]:
            items *= int(extent)
        each = int("".join(letter for letter in str(facts["descr"]) if letter.isdigit()) or 0)
    except (ValueError, SyntaxError, KeyError, TypeError):
        return "its header is damaged"
    if "O" in str(facts["descr"]) or "[" in str(facts["descr"]) or "U" in str(facts["descr"]):
        return None  # pickled, structured or counted in letters: its length is not said
    return _ends_at(start + length + items * each, size)


def _gzip(file: BinaryIO, _: int) -> Optional[str]:
    import gzip

    try:
        with gzip.GzipFile(fileobj=file) as unpacked:
            while unpacked.read(1 << 20):
                pass
        return None
    except (OSError, EOFError, zlib.error) as problem:
        return "it is cut off or damaged (%s)" % problem


def _json(file: BinaryIO, size: int) -> Optional[str]:
    if size > _JSON_LIMIT:
        return None
    try:
        json.loads(file.read().decode("utf-8"))
        return None
    except ValueError:
        return "it is no whole JSON"


def _pickle(file: BinaryIO, size: int) -> Optional[str]:
    """Its words are read up to the stop mark, and none is obeyed. What stands behind the last pickle is not known."""
    import pickletools

    if size > _PICKLE_LIMIT:
        file.seek(size - 1)
        return None if file.read(1) == b"." else "it is cut off"
    try:
        while file.peek(1)[:1] == b"\x80":  # type: ignore[attr-defined] # a file that was opened to be read has it
            for _ in pickletools.genops(file):
                pass
    except (ValueError, EOFError, OverflowError, IndexError, struct.error):
        return "it is cut off or damaged"
    return None


def _ends_at(wanted: int, size: int) -> Optional[str]:
    return "it is cut off: %d of %d bytes are there" % (size, wanted) if size < wanted else None
