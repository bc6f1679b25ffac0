"""Which files travel: the code and what lies beside it, not what is ignored, large data or a secret."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from voyageur.errors import SpecError
from voyageur.snapshot.git import has_repository, list_files
from voyageur.snapshot.own import BECAUSE, OF_IMAGE, OwnFiles
from voyageur.snapshot.patterns import matches, plain, useless
from voyageur.snapshot.secrets import looks_secret
from voyageur.spec import Snapshot

NEVER = frozenset(
    {
        ".git",
        ".hg",
        ".svn",
        "__pycache__",
        ".venv",
        "venv",
        ".tox",
        ".nox",
        "node_modules",
        ".mypy_cache",
        ".ruff_cache",
        ".pytest_cache",
        ".ipynb_checkpoints",
        ".hypothesis",
        "wandb",
        ".DS_Store",
    }
)

DATA = (
    ".h5",
    ".hdf5",
    ".npy",
    ".npz",
    ".tar",
    ".tgz",
    ".gz",
    ".zst",
    ".xz",
    ".zip",
    ".pt",
    ".pth",
    ".ckpt",
    ".safetensors",
    ".onnx",
    ".parquet",
    ".tfrecord",
    ".tfrecords",
    ".mdb",
    ".sif",
    ".sqsh",
    ".sqfs",
    ".squashfs",
    ".img",
    ".mp4",
    ".avi",
    ".mov",
    ".wav",
    ".pkl",
    ".bin",
    ".nc",
    ".grib",
    ".tif",
    ".tiff",
    ".arrow",
    ".feather",
    ".sqlite",
    ".db",
)
_DATA_FROM = 1024**2  # a smaller file of these kinds is a fixture, not a dataset


class LeftOut(Struct, frozen=True, kw_only=True):
    name: str
    because: str


class Selection(Struct, frozen=True, kw_only=True):
    files: tuple[str, ...]
    left_out: tuple[LeftOut, ...]
    by: str
    notes: tuple[str, ...] = ()


def select(root: Path, wish: Snapshot, own: OwnFiles) -> Selection:
    search = _Search(root, own)
    names, tracked, by = search.candidates(wish.include)
    files: list[str] = []
    for name in sorted(names):
        reason = search.why_not(name, wish, name in tracked)
        if reason:
            search.leave_out(*reason)
        else:
            files.append(name)
    return Selection(
        files=tuple(files),
        left_out=tuple(LeftOut(name=name, because=search.left[name]) for name in sorted(search.left)),
        by=by,
        notes=(*search.notes, *_pattern_notes(root, wish, names)),
    )


def _pattern_notes(root: Path, wish: Snapshot, names: set[str]) -> Iterator[str]:
    for key, patterns in (("include", wish.include), ("exclude", wish.exclude)):
        for pattern in useless(patterns, names, root):
            yield f"snapshot.{key}: `{pattern}` matches no file of the project"


class _Search:
    """One look through a project: what could travel, what stays and why, and what people should be told."""

    def __init__(self, root: Path, own: OwnFiles) -> None:
        self.root = root
        self.own = own
        self.left: dict[str, str] = {}
        self.notes: list[str] = []

    def candidates(self, include: tuple[str, ...]) -> tuple[set[str], set[str], str]:
        """All that may travel, those of them that git tracks, and how they were found."""
        found = self._from_git(self.root, "")
        if found is None or not found[0]:  # a project may lie in a folder that the repository around it ignores
            return set(self._walk("")), set(), "all files of the folder; git is not asked"
        names, tracked = found
        return names | self._insisted_on(include), tracked, "git: tracked and untracked files, without the ignored ones"

    def leave_out(self, name: str, because: str) -> None:
        self.left[name] = because

    def why_not(self, name: str, wish: Snapshot, is_tracked: bool) -> tuple[str, str] | None:
        """What is left out (the file, or the whole folder that it lies in), and why."""
        if folder := self.own.folder_of(name):
            if folder == self.own.image:
                return name if name == folder else f"{folder}/", OF_IMAGE
            return f"{folder}/", BECAUSE
        if matches(name, wish.include):
            return None
        if not is_tracked and (folder := self.own.checkpoints_of(name)):
            return f"{folder}/", BECAUSE
        reason = _why_not(self.root, name, wish, is_tracked)
        return (name, reason) if reason else None

    # ── git ──────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _from_git(self, folder: Path, prefix: str) -> tuple[set[str], set[str]] | None:
        """Every file that git lets travel, and those that it tracks; None where it does not answer."""
        tracked = list_files(folder, "--cached")
        if tracked.names is None:
            if has_repository(folder):
                self._note(f"git cannot be asked{_about(prefix)}, so files that it ignores travel, too", tracked.words)
            return None
        untracked = list_files(folder, "--others", "--exclude-standard")
        if untracked.words:
            self._note(f"git has a remark{_about(prefix)}", untracked.words)
        names: set[str] = set()
        for name in [*tracked.names, *(untracked.names or [])]:
            names.update(self._below(folder, prefix, name))
        return names, {prefix + name for name in tracked.names}

    def _note(self, what: str, words: str) -> None:
        self.notes.append(f"{what}: {words}")

    def _below(self, folder: Path, prefix: str, name: str) -> Iterator[str]:
        """Itself; the files in it, if it is a submodule or another repository; nothing for a deleted file."""
        whole = prefix + name
        if self.own.folder_of(whole.rstrip("/")):
            yield whole
            return
        try:
            mode = os.lstat(f"{folder}/{name}").st_mode
        except OSError:
            return
        if stat.S_ISDIR(mode):
            yield from self._inner(folder / name, f"{whole.rstrip('/')}/")
        elif stat.S_ISREG(mode) or stat.S_ISLNK(mode):
            yield whole

    def _inner(self, folder: Path, prefix: str) -> Iterable[str]:
        """A submodule that was never fetched is an empty folder, and git in it speaks of the repository around it."""
        if not (folder / ".git").exists():
            return ()
        found = self._from_git(folder, prefix)
        return self._walk(prefix) if found is None else found[0]

    def _insisted_on(self, patterns: tuple[str, ...]) -> set[str]:
        """Files that git ignores but the project names, from its top: ignored datasets are not all looked through."""
        if not patterns:
            return set()
        paths = [f":(glob){plain(pattern)}" if "**" in pattern else f"./{plain(pattern)}" for pattern in patterns]
        listed = list_files(self.root, "--others", "--", *paths).names or []
        return {name for listed_name in listed for name in self._below(self.root, "", listed_name)}

    # ── without git ──────────────────────────────────────────────────────────────────────────────────────────────────

    def _walk(self, prefix: str) -> Iterator[str]:
        for entry in self._entries(prefix):
            name = f"{prefix}{entry.name}"
            if entry.name in NEVER or entry.name.endswith((".pyc", ".egg-info")):
                continue
            if self.own.folder_of(name):
                yield name
            elif entry.is_dir(follow_symlinks=False):
                yield from self._walk(f"{name}/")
            elif entry.is_file(follow_symlinks=False) or entry.is_symlink():
                yield name

    def _entries(self, prefix: str) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(self.root / prefix) as entries:
                return list(entries)
        except OSError as problem:
            if not prefix:
                raise SpecError(
                    f"the project's folder cannot be read: {problem.strerror}",
                    facts=[str(self.root)],
                    hint="change to a folder that you may read",
                ) from None
            self.leave_out(prefix, f"cannot be read: {problem.strerror}")
            self.notes.append(f"{prefix} is left out: it cannot be read ({problem.strerror})")
            return []


def _about(prefix: str) -> str:
    return f" about {prefix}" if prefix else ""


def _why_not(root: Path, name: str, wish: Snapshot, is_tracked: bool) -> str | None:
    if matches(name, wish.exclude):
        return "excluded by the project"
    if looks_secret(name):
        return "looks like a secret"
    if not is_tracked and not NEVER.isdisjoint(name.split("/")):
        return "made anew wherever it is needed"
    if not is_tracked and name.lower().endswith(DATA) and _size(root / name) >= _DATA_FROM:
        return "data: stays where it is"
    return None


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return 0
