"""Members back into files. An archive may come from anywhere, so nothing of it is believed: names that lead outside,
links, modes and sizes are looked at first, and all is written into a new folder that only gets its name at the end."""

from __future__ import annotations

import errno
import os
import shutil
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice

from voyageur.data.errors import PackError
from voyageur.data.listing import OUTSIDE, stays
from voyageur.data.patterns import chosen, matches
from voyageur.data.sources import UNSAFE, is_safe
from voyageur.errors import SpecError
from voyageur.job.data import Pack, tar
from voyageur.job.data.indexing import plain
from voyageur.job.data.pack import as_bytes
from voyageur.job.data.packed import TarPack
from voyageur.job.data.source import FileSource

_HANDS = 8
_AT_ONCE = 64  # members in one task

BROKEN = "its checksum is not right"

Written = Callable[[int, int], None]  # members and bytes


@dataclass
class Unpacked:
    folder: str
    members: int = 0
    size: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    problems: list[tuple[bytes, str]] = field(default_factory=list)


def unpack(pack: Pack, patterns: Sequence[str], folder: str, counted: Callable[[int], None], done: Written) -> Unpacked:
    target = os.path.abspath(folder)
    if os.path.lexists(target) and (not os.path.isdir(target) or os.path.islink(target) or os.listdir(target)):
        raise SpecError(f"{folder} is there already", hint="choose a folder that does not exist yet, with `-o`")
    temporary = os.path.join(os.path.dirname(target), f".{os.path.basename(target)}.{os.urandom(4).hex()}")
    made = Unpacked(target)
    try:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.mkdir(temporary, 0o700)
        _Unpacking(pack, temporary, made, done).run(list(chosen(pack, patterns)), patterns, counted)
        os.chmod(temporary, 0o777 & ~_umask())
        if os.path.isdir(target):
            os.rmdir(target)
        os.rename(temporary, target)
    except OSError as problem:
        hint = "make room, or choose another place with `-o`"
        raise PackError(
            f"{folder} cannot be made: {problem.strerror}", facts=["nothing is left of it"], hint=hint
        ) from None
    finally:
        if os.path.isdir(temporary):
            shutil.rmtree(temporary)
    return made


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


class _Unpacking:
    def __init__(self, pack: Pack, folder: str, made: Unpacked, done: Written) -> None:
        self._pack, self._made, self._done = pack, made, done
        self._root = os.fsencode(folder)
        self._folders = {self._root}

    def run(self, numbers: list[int], patterns: Sequence[str], counted: Callable[[int], None]) -> None:
        members = list(self._wanted(numbers))
        self._check_room(members)
        counted(len(members))
        with ThreadPoolExecutor(_HANDS, "unpack") as pool:
            rest = iter(members)
            while several := [group for _ in range(_HANDS) if (group := list(islice(rest, _AT_ONCE)))]:
                for group in several:
                    self._make_parents(group)
                for problems, size, count in pool.map(self._write, several):
                    self._count(problems, size, count)
        if isinstance(self._pack, TarPack) and self._pack.table.about.get("others"):
            self._add_others(patterns)

    def _count(self, problems: list[tuple[bytes, str]], size: int, count: int) -> None:
        self._made.problems += problems
        self._made.members += count
        self._made.size += size
        self._done(count, size)

    def _wanted(self, numbers: list[int]) -> Iterator[tuple[int, bytes]]:
        """Where several have one name, the last counts, as in any tar."""
        for number in numbers:
            name = as_bytes(self._pack.names[number])
            if not is_safe(name):
                self._made.left_out[UNSAFE] += 1
            elif self._pack.number(name) == number:
                yield number, name

    def _check_room(self, members: list[tuple[int, bytes]]) -> None:
        """Few bytes of an index can promise many of contents, so they are added up before one is written."""
        wanted = sum(self._pack.size(number) for number, _ in members)
        disk = os.statvfs(self._root)
        free, files = disk.f_bavail * disk.f_frsize, disk.f_favail
        if wanted > free or (disk.f_files and len(members) > files):
            facts = [f"{wanted} bytes in {len(members)} files are wanted; {free} bytes and {files} files are free"]
            raise SpecError(f"there is no room for it in {os.path.dirname(self._made.folder)}", facts=facts)

    def _make_parents(self, members: list[tuple[int, bytes]]) -> None:
        for _, name in members:
            parent = os.path.dirname(os.path.join(self._root, name))
            if parent not in self._folders:
                try:
                    os.makedirs(parent, exist_ok=True)
                except (FileExistsError, NotADirectoryError):
                    continue  # a member is a file here and a folder there: writing it will say so
                self._folders.add(parent)

    def _write(self, members: list[tuple[int, bytes]]) -> tuple[list[tuple[bytes, str]], int, int]:
        problems, total = [], 0
        for number, name in members:
            content = self._pack.view(number)
            mode, crc = self._facts(number)
            if crc is not None and zlib.crc32(content) != crc:
                problems.append((name, BROKEN))
                continue
            try:
                self._write_file(os.path.join(self._root, name), content, mode)
                total += len(content)
            except (FileExistsError, NotADirectoryError, IsADirectoryError, FileNotFoundError):
                problems.append((name, "it is a file here and a folder there"))
            except OSError as problem:
                if problem.errno != errno.ENAMETOOLONG:
                    raise
                problems.append((name, "its name is too long for this disk"))
        return problems, total, len(members) - len(problems)

    def _facts(self, number: int) -> tuple[int, int | None]:
        """The mode, of which only `executable` is taken over; the checksum, where there is one."""
        if not isinstance(self._pack, TarPack):
            return 0o666, None
        place = self._pack.table.place(number)
        block = self._pack.header(number)
        executable = tar.is_header(block) and tar.mode_in(block) & 0o100
        return 0o777 if executable else 0o666, place.crc if self._pack.table.has_checksums else None

    @staticmethod
    def _write_file(path: bytes, content: memoryview, mode: int) -> None:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
        try:
            while len(content):
                content = content[os.write(descriptor, content) :]
        finally:
            os.close(descriptor)

    # ── what is no file ──

    def _add_others(self, patterns: Sequence[str]) -> None:
        """Links come last, so that nothing is ever written through one; those that lead outside go again."""
        assert isinstance(self._pack, TarPack)
        links = []
        for path in self._pack.archives:
            source = FileSource(path)
            for member in tar.Scan(source.view(0, source.size), path):
                name = plain(member.name).rstrip(b"/")
                if member.kind not in (tar.LINK, tar.FOLDER) or not name or not matches(name, patterns):
                    continue
                if not is_safe(name):
                    self._made.left_out[UNSAFE] += 1
                elif member.kind == tar.FOLDER:
                    self._make_parents([(0, name + b"/x")])
                else:
                    links.append((name, member.target))
        self._link(links)

    def _link(self, links: list[tuple[bytes, bytes]]) -> None:
        made = []
        self._make_parents([(0, name) for name, _ in links])
        for name, target in links:
            try:
                os.symlink(target, os.path.join(self._root, name))
                made.append(name)
            except (FileExistsError, NotADirectoryError, FileNotFoundError):
                self._made.problems.append((name, "something else has its name"))
        root = os.path.realpath(self._root)
        outside = [name for name in made if not self._stays(name, root)]
        for name in outside:
            os.unlink(os.path.join(self._root, name))
        self._made.left_out[OUTSIDE] += len(outside)
        self._count([], 0, len(made) - len(outside))

    def _stays(self, name: bytes, root: bytes) -> bool:
        path = os.path.join(self._root, name)
        end = os.path.realpath(path)
        return stays(os.readlink(path), os.path.dirname(name)) and (end == root or end.startswith(root + b"/"))
