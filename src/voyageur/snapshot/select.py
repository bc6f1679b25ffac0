"""Which files travel: the code and what lies beside it, not what is ignored, large data or a secret."""

from __future__ import annotations

import fnmatch
import os
import re
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

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

_SECRETS = (
    ".env",
    ".env.*",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.kdbx",
    "id_rsa*",
    "id_dsa*",
    "id_ecdsa*",
    "id_ed25519*",
    ".netrc",
    "_netrc",
    ".pgpass",
    ".pypirc",
    ".git-credentials",
    "*credentials*.json",
    "*credentials*.txt",
    "*credentials*.ini",
    "secrets.*",
    "*.token",
    "*_token.txt",
    "kubeconfig",
)
_NOT_SECRET = (".env.example", ".env.sample", ".env.template", ".env.dist", "*.pub", "secrets.py")
_SECRET_FOLDERS = frozenset({".ssh", ".aws", ".gnupg", ".kube"})


class LeftOut(Struct, frozen=True, kw_only=True):
    name: str
    because: str


class Selection(Struct, frozen=True, kw_only=True):
    files: tuple[str, ...]
    left_out: tuple[LeftOut, ...]
    by: str


def select(root: Path, wish: Snapshot) -> Selection:
    found = _candidates(root)
    if found is None:
        names, tracked, by = set(_walk(root, "")), set[str](), "all files of the folder; git is not asked"
    else:
        names, tracked = found
        names |= _insisted_on(root, wish.include)
        by = "git: tracked and untracked files, without the ignored ones"
    files, left_out = [], []
    for name in sorted(names):
        reason = None if matches(name, wish.include) else _why_not(root, name, wish, name in tracked)
        if reason:
            left_out.append(LeftOut(name=name, because=reason))
        else:
            files.append(name)
    return Selection(files=tuple(files), left_out=tuple(left_out), by=by)


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


def looks_secret(name: str) -> bool:
    *folders, last = name.lower().split("/")
    if _SECRET_FOLDERS & set(folders):
        return True
    return bool(_SECRET_NAME.match(last)) and not _NOT_SECRET_NAME.match(last)


def _one_of(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """One expression for all of them: they are tried on every file of the project."""
    return re.compile("|".join(fnmatch.translate(pattern) for pattern in patterns))


_SECRET_NAME, _NOT_SECRET_NAME = _one_of(_SECRETS), _one_of(_NOT_SECRET)


def matches(name: str, patterns: tuple[str, ...]) -> bool:
    """A pattern names a file, a folder with all below it, or a last part of either."""
    return any(
        fnmatch.fnmatchcase(name, pattern)
        or fnmatch.fnmatchcase(name, f"*/{pattern}")
        or name.startswith(f"{pattern.rstrip('/')}/")
        for pattern in patterns
    )


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return 0


def _candidates(root: Path) -> tuple[set[str], set[str]] | None:
    """Every file that git lets travel, and those that it tracks; None where git is not asked, or ignores it all."""
    tracked = _git(root, "--cached")
    if tracked is None:
        return None
    untracked = _git(root, "--others", "--exclude-standard") or []
    names: set[str] = set()
    for name in [*tracked, *untracked]:
        names.update(_below(root, name))
    return (names, set(tracked)) if names else None


def _insisted_on(root: Path, patterns: tuple[str, ...]) -> set[str]:
    """Files that git ignores but the project names."""
    if not patterns:
        return set()
    listed = _git(root, "--others", "--", *patterns) or []
    return {name for listed_name in listed for name in _below(root, listed_name)}


def _git(root: Path, *which: str) -> list[str] | None:
    try:
        answer = subprocess.run(["git", "ls-files", "-z", *which], cwd=root, capture_output=True, check=False)
    except OSError:
        return None
    if answer.returncode != 0:
        return None
    return [os.fsdecode(name) for name in answer.stdout.split(b"\0") if name]


def _below(root: Path, name: str) -> Iterator[str]:
    """Itself; for a submodule or a repository inside the repository, the files in it; nothing for a deleted file."""
    try:
        mode = os.lstat(f"{root}/{name}").st_mode
    except OSError:
        return
    if stat.S_ISDIR(mode):
        # A submodule that was never fetched is an empty folder, and git in it speaks of the repository around it.
        inner = _candidates(root / name) if (root / name / ".git").exists() else None
        yield from (f"{name.rstrip('/')}/{file}" for file in (inner[0] if inner else ()))
    elif stat.S_ISREG(mode) or stat.S_ISLNK(mode):
        yield name


def _walk(root: Path, prefix: str) -> Iterator[str]:
    with os.scandir(root / prefix) as entries:
        for entry in entries:
            name = f"{prefix}{entry.name}"
            if entry.name in NEVER or entry.name.endswith((".pyc", ".egg-info")):
                continue
            if entry.is_dir(follow_symlinks=False):
                yield from _walk(root, f"{name}/")
            elif entry.is_file(follow_symlinks=False) or entry.is_symlink():
                yield name
