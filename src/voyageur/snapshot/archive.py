"""The code as one file, named by its content: the same code is stored once, however often it is submitted."""

from __future__ import annotations

import hashlib
import io
import os
import stat
import tarfile
from pathlib import Path, PurePosixPath

from msgspec import Struct
from msgspec.structs import replace

from voyageur.errors import SpecError
from voyageur.plan import FrozenCode
from voyageur.snapshot.own import OwnFiles
from voyageur.snapshot.patterns import matches
from voyageur.snapshot.select import LeftOut, Selection, select
from voyageur.spec import Snapshot
from voyageur.units import Size

# Timestamps are not part of what the code is; any fixed one will do that zip files can hold too.
_MOMENT = 1_000_000_000


class Member(Struct, frozen=True, kw_only=True):
    name: str
    mode: int
    link: str | None = None
    content: bytes = b""


class Package(Struct, frozen=True, kw_only=True):
    """What would travel, read once: the tar is made of the very bytes that were hashed."""

    members: tuple[Member, ...]
    selection: Selection
    size: Size
    digest: str
    tar_length: int

    def frozen(self, folder: PurePosixPath) -> FrozenCode:
        return FrozenCode(
            archive=folder / f"{self.digest[:20]}.tar", checksum=self.digest, files=len(self.members), size=self.size
        )


def gather(root: Path, wish: Snapshot, own: OwnFiles | None = None) -> Package:
    """`own`: where runs of this project put their own files, if that is inside the project."""
    chosen = select(root, wish, own or OwnFiles())
    _guard(root, chosen, wish.limit)
    members, secret = [], []
    for name in chosen.files:
        member = _member(root, name)
        if member is None:
            continue
        if _holds_private_key(member.content) and not matches(name, wish.include):
            secret.append(LeftOut(name=name, because="holds a private key"))
        else:
            members.append(member)
    if not members:
        raise SpecError(
            "the project has no files to take along",
            facts=[f"looked in {root}: {chosen.by}"],
            hint="change to the folder of your program, or check what .gitignore leaves",
        )
    selection = replace(chosen, files=tuple(member.name for member in members), left_out=(*chosen.left_out, *secret))
    size = Size(sum(len(member.content) for member in members))
    digest, length = _weigh(members)
    return Package(members=tuple(members), selection=selection, size=size, digest=digest, tar_length=length)


def store(package: Package, folder: Path) -> bool:
    """Put it into the folder unless it is there already; whether anything was written."""
    target = Path(package.frozen(PurePosixPath(folder)).archive)
    if _is_whole(target, package):
        os.utime(target)
        return False
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    temporary = folder / f".{target.name}.{os.urandom(4).hex()}"
    try:
        with open(temporary, "xb", opener=_private) as file:
            _write_tar(package.members, file)
            file.flush()
            os.fsync(file.fileno())
        temporary.rename(target)
    finally:
        temporary.unlink(missing_ok=True)
    return True


def _is_whole(target: Path, package: Package) -> bool:
    """A file of that name may be cut off or damaged: a full disk, a quota, a scratch that is purged."""
    try:
        with open(target, "rb") as file:
            right_length = os.fstat(file.fileno()).st_size == package.tar_length
            return right_length and hashlib.file_digest(file, "sha256").hexdigest() == package.digest
    except OSError:
        return False


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _guard(root: Path, chosen: Selection, limit: Size) -> None:
    sizes = {name: _length(f"{root}/{name}") for name in chosen.files}
    total = Size(sum(sizes.values()))
    if total > limit:
        largest = sorted(sizes, key=lambda name: -sizes[name])[:5]
        raise SpecError(
            f"the code is {total}, more than the {limit} that may travel with a run",
            facts=["the largest files:", *(f"  {Size(sizes[name])}  {name}" for name in largest)],
            hint="leave data where it is: name it under [snapshot] exclude, or raise `snapshot.limit`",
        )


def _length(path: str) -> int:
    try:
        found = os.lstat(path)
    except OSError:
        return 0
    return found.st_size if stat.S_ISREG(found.st_mode) else 0


def _member(root: Path, name: str) -> Member | None:
    path = f"{root}/{name}"
    try:
        mode = os.lstat(path).st_mode
        if stat.S_ISLNK(mode):
            return Member(name=name, mode=0o777, link=_link_target(root, Path(path)))
        with open(path, "rb") as file:
            return Member(name=name, mode=0o755 if mode & 0o100 else 0o644, content=file.read())
    except FileNotFoundError:
        return None
    except OSError as problem:
        raise SpecError(
            f"{name} cannot be read",
            facts=[str(problem)],
            hint="make it readable, or leave it out under [snapshot] exclude",
        ) from None


def _link_target(root: Path, path: Path) -> str:
    """Inside the project a link leads to the frozen file; out of it, to the same place from wherever it is unpacked."""
    target = os.readlink(path)
    absolute = os.path.normpath(os.path.join(path.parent, target))
    if absolute == str(root) or absolute.startswith(f"{root}/"):
        return os.path.relpath(absolute, path.parent)
    return absolute


def _holds_private_key(content: bytes) -> bool:
    start = content[:400].lstrip()
    return start.startswith(b"-----BEGIN ") and b"PRIVATE KEY-----" in start


def _write_tar(members: tuple[Member, ...] | list[Member], file: io.IOBase) -> None:
    """Headers from the library, contents as they are: its own way of adding a file takes twice as long."""
    written = 0
    for member in members:
        info = tarfile.TarInfo(member.name)
        info.mode, info.mtime, info.size = member.mode, _MOMENT, len(member.content)
        if member.link is not None:
            info.type, info.linkname = tarfile.SYMTYPE, member.link
        block = info.tobuf(tarfile.GNU_FORMAT, "utf-8", "surrogateescape") + member.content
        written += file.write(block + bytes(-len(block) % tarfile.BLOCKSIZE))
    end = written + 2 * tarfile.BLOCKSIZE
    file.write(bytes(2 * tarfile.BLOCKSIZE + -end % tarfile.RECORDSIZE))


class _Hashing(io.RawIOBase):
    """A file that keeps nothing but the checksum of what was written to it."""

    def __init__(self) -> None:
        self.digest = hashlib.sha256()
        self.length = 0

    def write(self, data: bytes) -> int:  # type: ignore[override]
        self.digest.update(data)
        self.length += len(data)
        return len(data)

    def tell(self) -> int:
        return self.length


def _weigh(members: list[Member]) -> tuple[str, int]:
    """The checksum and the length of the tar, before it is written anywhere."""
    target = _Hashing()
    _write_tar(members, target)
    return target.digest.hexdigest(), target.length
