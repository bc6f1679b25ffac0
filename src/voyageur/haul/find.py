"""Where a run's results are: saved in archives with their manifests, kept on a node, written beside the code."""

from __future__ import annotations

import json
import os
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from voyageur.errors import RunError
from voyageur.record import Run
from voyageur.runtime import folder as files
from voyageur.runtime.results.bin import MANIFEST


class Item(Struct, frozen=True, kw_only=True):
    """One file: what it will be called, and which bytes of which file it is. `sha256` None: nobody wrote it down."""

    name: str
    source: Path
    offset: int
    size: int
    executable: bool = False
    sha256: str | None = None


class Bundle(Struct, frozen=True, kw_only=True):
    """What one node saved; `missing` are sentences about what cannot be had."""

    node: str
    items: tuple[Item, ...]
    missing: tuple[str, ...] = ()


def find_bundles(run: Run) -> list[Bundle]:
    """By node. Raises RunError when a manifest cannot be read: then nobody knows what should be there."""
    saved = [_saved(manifest) for manifest in sorted(_folder(run, "results").glob(f"*{MANIFEST}"))]
    return [*saved, *_kept(run), *_written(run)]


def checkpoints_of(run: Run) -> Bundle:
    root = _folder(run, "checkpoints")
    found = sorted(path for path in root.rglob("*") if path.is_file() and not path.is_symlink())
    items = (_whole(path, f"checkpoints/{path.relative_to(root)}") for path in found)
    return Bundle(node="checkpoints", items=tuple(items))


def _folder(run: Run, name: str) -> Path:
    plan = files.read_json(str(run.folder / files.PLAN)) or {}
    folders = plan.get("folders")
    if not isinstance(folders, dict):
        raise RunError(f"{run.id} has no readable plan", facts=[str(run.folder / files.PLAN)])
    return Path(folders.get(name) or "/nonexistent")


def _saved(manifest: Path) -> Bundle:
    try:
        told = json.loads(manifest.read_bytes())
        items = tuple(_item(name, entry, manifest.parent) for name, entry in told["files"].items())
        left = told.get("left", [])
        return Bundle(node=str(told["node"]), items=items, missing=tuple(f"not saved: {text}" for text in left))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as problem:
        raise RunError("the manifest of the results cannot be read", facts=[f"{manifest}: {problem}"]) from None


def _item(name: str, entry: dict[str, Any], folder: Path) -> Item:
    archive = str(entry["archive"])
    if name.startswith("/") or ".." in name.split("/") or "\0" in name or os.path.basename(archive) != archive:
        raise ValueError(f"{name!r} leads out of the results")
    return Item(
        name=name,
        source=folder / archive,
        offset=int(entry["offset"]),
        size=int(entry["size"]),
        executable=bool(entry.get("executable")),
        sha256=str(entry["sha256"]),
    )


def _whole(path: Path, name: str) -> Item:
    status = path.stat()
    return Item(name=name, source=path, offset=0, size=status.st_size, executable=bool(status.st_mode & 0o100))


def _kept(run: Run) -> Iterator[Bundle]:
    """There was no room at home. Where this machine sees the node's disk, they are fetched from there."""
    for event in run.events:
        if event["event"] != "results kept":
            continue
        root = Path(str(event["path"]))
        if root.is_dir():
            found = sorted(path for path in root.rglob("*") if path.is_file() and not path.is_symlink())
            items = tuple(_whole(path, str(path.relative_to(root))) for path in found)
            yield Bundle(node=str(event["node"]), items=items)
        else:
            text = f"{event['files']} results stayed on {event['node']} ({event['because']}): fetch them from {root}"
            yield Bundle(node=str(event["node"]), items=(), missing=(text,))


def _written(run: Run) -> Iterator[Bundle]:
    """What the program wrote into its working folder and [results] did not name."""
    for archive in sorted(run.folder.glob(files.WRITTEN % ("*", "*"))):
        name = archive.name.removeprefix("written-").removesuffix(".tar")
        try:
            with tarfile.open(archive) as tar:
                members = [member for member in tar if member.isreg() and _is_inside(member.name)]
        except (OSError, tarfile.TarError) as problem:
            yield Bundle(node=f"written-{name}", items=(), missing=(f"{archive} cannot be read: {problem}",))
            continue
        items = tuple(
            Item(
                name=f"written-{name}/{member.name}",
                source=archive,
                offset=member.offset_data,
                size=member.size,
                executable=bool(member.mode & 0o100),
            )
            for member in members
        )
        yield Bundle(node=f"written-{name}", items=items)


def _is_inside(name: str) -> bool:
    return not name.startswith("/") and ".." not in name.split("/")
