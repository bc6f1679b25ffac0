"""Unpacking archives that may be hostile: nothing is written outside the folder, and nothing is trusted.

Refused: absolute names, `..`, devices, pipes, links that lead out, more bytes or members than there is room for. Links
are made last, so that no file is ever written through one; and a link may only climb at its beginning, from the real
folder it stands in, so that no chain of links leads out either. Set-user-id bits and owners are not taken over.
"""

import bz2
import contextlib
import gzip
import io
import lzma
import os
import shutil
import stat
import tarfile
import zipfile
import zlib
from typing import IO, Any, Callable, Dict, NamedTuple, Optional, Sequence, Set

from voyageur.job.data.errors import BrokenPack, DataError, NotAPack
from voyageur.job.data.tar import compression

_DEEPEST = 128  # folders in each other
_BLOCK = 1 << 20

Told = Callable[[int], None]


class Hostile(DataError):
    """The archive tries what no dataset needs."""


class Limits(NamedTuple):
    size: int
    members: int = 1 << 40


class Tree:
    """A folder that is being filled. It must be empty and private."""

    def __init__(self, root: str, archive: str, limits: Limits, told: Told = lambda size: None) -> None:
        self.root = root
        self.archive = archive
        self.members = self.size = 0
        self._limits = limits
        self._told = told
        self._links: Dict[str, str] = {}
        self._folders: Set[str] = {""}

    def folder(self, name: str) -> None:
        plain = self._plain(name)
        self._count(0)
        self._make_folders(plain)

    def file(self, name: str, size: int, source: IO[bytes], executable: bool) -> None:
        plain = self._plain(name)
        self._count(size)
        self._make_folders(os.path.dirname(plain))
        self._links.pop(plain, None)
        written = self._write(plain, size, source, 0o755 if executable else 0o644)
        if written != size:
            raise BrokenPack("%s is broken" % self.archive, ["%s has %d bytes of %d" % (_shown(name), written, size)])

    def link(self, name: str, target: str) -> None:
        plain = self._plain(name)
        self._count(0)
        climbs = 0
        parts = [part for part in target.split("/") if part not in ("", ".")]
        while climbs < len(parts) and parts[climbs] == "..":
            climbs += 1
        if target.startswith("/") or ".." in parts[climbs:] or climbs > plain.count("/") or "\0" in target:
            raise self._hostile(name, "it is a link to %s" % _shown(target))
        self._make_folders(os.path.dirname(plain))
        self._links[plain] = target

    def hard_link(self, name: str, target: str) -> None:
        plain, first = self._plain(name), self._plain(target)
        self._count(0)
        if first in self._links or not os.path.isfile(self._path(first)):
            raise self._hostile(name, "it is a hard link to %s, which no file of the archive is" % _shown(target))
        self._make_folders(os.path.dirname(plain))
        if plain != first:
            self._clear(plain)
            os.link(self._path(first), self._path(plain))

    def refuse(self, name: str, what: str) -> None:
        raise self._hostile(name, "it is %s" % what)

    def finish(self) -> None:
        """The links, now that nothing is written any more."""
        for plain, target in self._links.items():
            self._clear(plain)
            os.symlink(target, self._path(plain))

    # ── inside ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _plain(self, name: str) -> str:
        parts = [part for part in name.split("/") if part not in ("", ".")]
        if name.startswith("/") or ".." in parts or "\0" in name:
            raise self._hostile(name, "it leads out of the archive")
        if len(parts) > _DEEPEST:
            raise self._hostile(name, "it lies %d folders deep" % len(parts))
        return "/".join(parts)

    def _count(self, size: int) -> None:
        self.members += 1
        self.size += size
        if self.size > self._limits.size or self.members > self._limits.members:
            fact = "%d bytes in %d members so far; the limit is %d bytes" % (self.size, self.members, self._limits.size)
            raise Hostile("%s holds more than there is room for" % self.archive, [fact])

    def _hostile(self, name: str, why: str) -> Hostile:
        return Hostile("%s is not safe to unpack" % self.archive, ["%s: %s" % (_shown(name), why)])

    def _path(self, plain: str) -> str:
        return os.path.join(self.root, plain)

    def _make_folders(self, plain: str) -> None:
        if plain in self._folders:
            return
        self._make_folders(os.path.dirname(plain))
        self._links.pop(plain, None)
        try:
            os.mkdir(self._path(plain), 0o755)
        except FileExistsError:
            raise self._hostile(plain, "it is a file and a folder") from None
        self._folders.add(plain)

    def _clear(self, plain: str) -> None:
        """An archive may hold a name twice; the last one counts."""
        if plain in self._folders:
            raise self._hostile(plain, "it is a file and a folder")
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._path(plain))

    def _write(self, plain: str, size: int, source: IO[bytes], mode: int) -> int:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        try:
            descriptor = os.open(self._path(plain), flags, mode)
        except FileExistsError:
            self._clear(plain)
            descriptor = os.open(self._path(plain), flags, mode)
        written = 0
        with os.fdopen(descriptor, "wb", buffering=0) as file:
            while written < size:
                block = source.read(min(_BLOCK, size - written))
                if not block:
                    break
                file.write(block)
                written += len(block)
                self._told(len(block))
        return written


def _shown(name: str) -> str:
    return repr(name if len(name) < 200 else name[:200] + "...")[1:-1]


# ── kinds of archives ────────────────────────────────────────────────────────────────────────────────────────────────


def extract_tar(source: Any, tree: Tree) -> None:
    """From a stream; compressed or not. Read to its end, because that is where its checksum stands."""
    try:
        with _plain(source) as stream:
            with tarfile.open(fileobj=stream, mode="r|", errorlevel=1) as archive:
                for member in archive:
                    _extract_member(archive, member, tree)
                    archive.members = []  # type: ignore[attr-defined] # else it keeps all of a million
            while stream.read(_BLOCK):
                pass
    except OSError as problem:
        if problem.errno:
            raise
        raise _broken(tree, problem) from None  # what gzip and bz2 say of damage
    except (tarfile.TarError, EOFError, zlib.error, lzma.LZMAError) as problem:
        raise _broken(tree, problem) from None


def _broken(tree: Tree, problem: Exception) -> BrokenPack:
    return BrokenPack("%s is broken" % tree.archive, [str(problem)], "fetch or pack it again")


def _plain(source: Any) -> IO[bytes]:
    """Decompressed. tarfile could do that as well, but it does not compare gzip's checksum."""
    stream = io.BufferedReader(_Raw(source), _BLOCK)
    how = compression(stream.peek(16)[:16])
    if how == "gzip":
        return gzip.GzipFile(fileobj=stream)  # type: ignore[return-value] # it reads like one
    if how == "bzip2":
        return bz2.BZ2File(stream)
    if how == "xz":
        return lzma.LZMAFile(stream)
    if how:
        raise NotAPack("Python cannot unpack what is compressed with %s" % how)
    return stream


class _Raw(io.RawIOBase):
    """Anything with `read`, as a stream that can be looked ahead in."""

    def __init__(self, source: Any) -> None:
        super().__init__()
        self._source = source

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        found = self._source.read(len(buffer))
        buffer[: len(found)] = found
        return len(found)


def _extract_member(archive: tarfile.TarFile, member: tarfile.TarInfo, tree: Tree) -> None:
    if member.isdir():
        tree.folder(member.name)
    elif member.issym():
        tree.link(member.name, member.linkname)
    elif member.islnk():
        tree.hard_link(member.name, member.linkname)
    elif member.isfile():
        content = archive.extractfile(member)
        assert content is not None
        tree.file(member.name, member.size, content, bool(member.mode & stat.S_IXUSR))
    else:
        tree.refuse(member.name, "a device or a pipe")


def extract_zip(path: str, tree: Tree) -> None:
    try:
        with zipfile.ZipFile(path) as archive:
            for entry in archive.infolist():
                _extract_entry(archive, entry, tree)
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, ValueError) as problem:
        raise BrokenPack("%s cannot be unpacked" % tree.archive, [str(problem)], "fetch or pack it again") from None


def _extract_entry(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, tree: Tree) -> None:
    mode = entry.external_attr >> 16
    if entry.is_dir():
        tree.folder(entry.filename)
        return
    with archive.open(entry) as content:
        if stat.S_ISLNK(mode):
            tree.link(entry.filename, os.fsdecode(content.read(4096)))
        elif stat.S_IFMT(mode) not in (0, stat.S_IFREG):
            tree.refuse(entry.filename, "a device or a pipe")
        else:
            tree.file(entry.filename, entry.file_size, content, bool(mode & stat.S_IXUSR))


# ── all of it ────────────────────────────────────────────────────────────────────────────────────────────────────────


def unpack(
    archive: str,
    target: str,
    limits: Limits,
    sources: Optional[Sequence[Any]] = None,
    told: Told = lambda size: None,
) -> Tree:
    """Into a folder that is not there yet; whole or not at all. `sources`: streams of one or several tars."""
    partial = "%s.partial-%d" % (target, os.getpid())
    os.mkdir(partial, 0o700)
    try:
        tree = Tree(partial, archive, limits, told)
        if sources is not None:
            for source in sources:
                extract_tar(source, tree)
        elif zipfile.is_zipfile(archive):
            extract_zip(archive, tree)
        else:
            with open(archive, "rb") as file:
                extract_tar(file, tree)
        tree.finish()
        os.rename(partial, target)
    except OSError as problem:
        raise DataError("%s cannot be unpacked: %s" % (archive, problem.strerror or problem), [target]) from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return tree
