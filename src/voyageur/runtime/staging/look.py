"""What a dataset is, by its first bytes and its index. Used when a run is planned, and again on the node."""

import os
import stat
import zipfile
from typing import Iterator, List, NamedTuple, Optional, Tuple

from voyageur.job.data import tar
from voyageur.job.data.errors import DataError
from voyageur.job.data.index import SUFFIX, Index
from voyageur.runtime.staging.sums import read_sums

PACK, TAR, COMPRESSED, ZIP, SQUASHFS, FOLDER, FILE = (
    "pack", "tar", "compressed tar", "zip", "squashfs image", "folder", "file"
)  # fmt: skip
ARCHIVES = (PACK, TAR, COMPRESSED, ZIP, SQUASHFS)
READ_IN_PLACE = (PACK, TAR)

_TAR_NAMES = (".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz")


class Look(NamedTuple):
    """`members` and `unpacked` are None where only reading all of it would tell; `digest` is the content's own.

    A pack's is in its index, that of any other file in the sums beside it.
    """

    path: str
    kind: str
    size: int
    members: Optional[int] = None
    unpacked: Optional[int] = None
    digest: str = ""
    is_all: bool = True  # a large folder is not counted to its end while somebody waits


class NotThere(Exception):
    pass


def look(path: str, most: int = 1 << 60) -> Look:
    """Raises NotThere; DataError when it is a broken pack. Of a folder at most so many entries are counted."""
    path = os.path.normpath(path)
    if _has_index(path):
        return _pack(path)
    try:
        found = os.stat(path)
    except OSError as problem:
        raise NotThere("%s: %s" % (path, problem.strerror)) from None
    if stat.S_ISDIR(found.st_mode):
        return _folder(path, most)
    if not stat.S_ISREG(found.st_mode):
        raise NotThere("%s is neither a file nor a folder" % path)
    sums = read_sums(path)
    return _file(path, found.st_size)._replace(digest=sums.digest if sums else "")


def _has_index(path: str) -> bool:
    return os.path.isfile(path + SUFFIX)


def _pack(path: str) -> Look:
    index = Index.load(path + SUFFIX)
    size = sum(archive.size for archive in index.archives)
    digest = "+".join(archive.digest for archive in index.archives) if index.has_checksums else ""
    there = [os.path.join(os.path.dirname(path), name) for name in archive_names(path, index)]
    missing = [name for name in there if not os.path.isfile(name)]
    if missing:
        raise NotThere("%s: it is named in %s" % (missing[0], path + SUFFIX))
    return Look(path, PACK, size, len(index), size, digest)


def archive_names(path: str, index: Index) -> List[str]:
    """A single archive may have been renamed, and its index with it."""
    if len(index.archives) == 1:
        return [os.path.basename(path)]
    return [archive.name for archive in index.archives]


def _file(path: str, size: int) -> Look:
    try:
        with open(path, "rb") as file:
            start = file.read(tar.BLOCK)
    except OSError as problem:
        raise NotThere("%s cannot be read: %s" % (path, problem.strerror)) from None
    if tar.is_header(start):  # it begins with the name of its first file, which may be any
        return Look(path, TAR, size, unpacked=size)
    if start[:4] == b"hsqs":
        return Look(path, SQUASHFS, size)
    if start[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
        return _zip(path, size)
    if tar.compression(start) and path.lower().endswith(_TAR_NAMES):
        return Look(path, COMPRESSED, size)
    return Look(path, FILE, size, 1, size)


def _zip(path: str, size: int) -> Look:
    """An `.npz` is a zip, too, and nobody wants it unpacked."""
    if not path.lower().endswith(".zip"):
        return Look(path, FILE, size, 1, size)
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
    except (zipfile.BadZipFile, OSError, ValueError) as problem:
        raise DataError("%s is a broken zip" % path, [str(problem)], "fetch or pack it again") from None
    return Look(path, ZIP, size, len(entries), sum(entry.file_size for entry in entries))


def _folder(path: str, most: int) -> Look:
    members = size = 0
    for entry, _ in walk(path):
        members += 1
        if entry.is_file(follow_symlinks=False):
            size += entry.stat(follow_symlinks=False).st_size
        if members >= most:
            return Look(path, FOLDER, size, members, size, is_all=False)
    return Look(path, FOLDER, size, members, size)


def walk(root: str) -> Iterator[Tuple["os.DirEntry[str]", str]]:
    """All below a folder with their relative names, folder by folder, in order; links are not followed."""
    waiting: List[str] = [""]
    while waiting:
        below = waiting.pop()
        try:
            with os.scandir(os.path.join(root, below)) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except OSError as problem:
            raise NotThere("%s cannot be read: %s" % (os.path.join(root, below), problem.strerror)) from None
        folders = []
        for entry in found:
            name = os.path.join(below, entry.name)
            yield entry, name
            if entry.is_dir(follow_symlinks=False):
                folders.append(name)
        waiting.extend(reversed(folders))
