"""What a folder holds, found by many hands at once: a shared file system answers slowly, but many at a time."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from voyageur.data.crew import Crew
from voyageur.job.data.folder import in_order

SPECIAL = "sockets, devices and pipes"
OUTSIDE = "symbolic links that lead outside"
NOWHERE = "symbolic links to nothing"
CIRCLE = "symbolic links that lead round in a circle"

Above = frozenset[tuple[int, int]]  # device and number of the folders on the way down


@dataclass
class Listing:
    """Names as bytes, one piece of them for each folder: a million names must not be a million objects."""

    files: dict[bytes, bytes] = field(default_factory=dict)  # by folder: names, joined by slashes
    links: dict[bytes, dict[bytes, bytes]] = field(default_factory=dict)  # by folder: names and targets
    empty: set[bytes] = field(default_factory=set)  # folders with nothing in them
    left_out: Counter[str] = field(default_factory=Counter)
    examples: dict[str, bytes] = field(default_factory=dict)  # one of each kind that was left out
    problems: list[tuple[bytes, str]] = field(default_factory=list)  # folders that could not be read
    count: int = 0

    def leave_out(self, what: str, name: bytes) -> None:
        self.left_out[what] += 1
        self.examples.setdefault(what, name)

    def folders(self) -> list[bytes]:
        """In the order of a pack: a folder's files come before its subfolders."""
        return sorted(self.files.keys() | self.links.keys() | self.empty, key=lambda name: name.replace(b"/", b"\0"))

    def names(self, folder: bytes) -> list[bytes]:
        """Last parts, in the order of a pack: files of one sample are neighbours."""
        joined = self.files.get(folder)
        names = [*(joined.split(b"/") if joined else ()), *self.links.get(folder, ())]
        return sorted(names, key=in_order)


@dataclass
class _Seen:
    """One folder, read."""

    files: list[bytes] = field(default_factory=list)
    folders: list[bytes] = field(default_factory=list)
    links: dict[bytes, bytes] = field(default_factory=dict)
    left_out: list[tuple[str, bytes]] = field(default_factory=list)
    above: Above = frozenset()

    @property
    def is_empty(self) -> bool:
        return not (self.files or self.folders or self.links or self.left_out)


def list_folder(root: bytes, *, follow: bool = False, without: frozenset[bytes] = frozenset()) -> Listing:
    """`without`: paths below the root that are not looked at, such as the pack itself."""
    listing = Listing()
    inside = os.path.realpath(root)
    crew: Crew[_Seen] = Crew()
    crew.ask(b"", _look, root, inside, b"", frozenset(), follow)
    for folder, answer in crew:
        try:
            seen = answer.result()
        except OSError as problem:
            listing.problems.append((folder, problem.strerror or str(problem)))
            continue
        for below in _take(listing, folder, seen, without):
            crew.ask(below, _look, root, inside, below, seen.above, follow)
    return listing


def _take(listing: Listing, folder: bytes, seen: _Seen, without: frozenset[bytes]) -> Iterator[bytes]:
    before = folder + b"/" if folder else b""
    if seen.is_empty and folder:
        listing.empty.add(folder)
        listing.count += 1
    files = [name for name in seen.files if before + name not in without] if without else seen.files
    if files:
        listing.files[folder] = b"/".join(files)
    if seen.links:
        listing.links[folder] = seen.links
    listing.count += len(files) + len(seen.links)
    for what, name in seen.left_out:
        listing.leave_out(what, before + name)
    for name in seen.folders:
        if before + name not in without:
            yield before + name


def _look(root: bytes, inside: bytes, folder: bytes, above: Above, follow: bool) -> _Seen:
    path = os.path.join(root, folder) if folder else root
    seen = _Seen()
    if follow:
        status = os.stat(path)
        seen.above = above | {(status.st_dev, status.st_ino)}
    with os.scandir(path) as entries:
        for entry in entries:
            if entry.is_file(follow_symlinks=follow):
                seen.files.append(entry.name)
            elif entry.is_dir(follow_symlinks=False):
                seen.folders.append(entry.name)
            elif entry.is_symlink():
                _look_at_link(seen, entry, inside, folder, follow)
            else:
                seen.left_out.append((SPECIAL, entry.name))
    return seen


def _look_at_link(seen: _Seen, entry: os.DirEntry[bytes], inside: bytes, folder: bytes, follow: bool) -> None:
    if not os.path.exists(entry.path):
        seen.left_out.append((NOWHERE, entry.name))
    elif follow and entry.is_dir():
        status = entry.stat()
        circle = (status.st_dev, status.st_ino) in seen.above
        (seen.left_out.append((CIRCLE, entry.name)) if circle else seen.folders.append(entry.name))
    elif follow:
        seen.left_out.append((SPECIAL, entry.name))
    else:
        target = os.readlink(entry.path)
        if stays(target, folder) and _is_below(os.path.realpath(entry.path), inside):
            seen.links[entry.name] = target
        else:
            seen.left_out.append((OUTSIDE, entry.name))


def stays(target: bytes, folder: bytes) -> bool:
    """As it is written, it leads nowhere above the root: so it leads nowhere else where the pack is unpacked."""
    way = os.path.normpath(os.path.join(folder, target))
    return not target.startswith(b"/") and way != b".." and not way.startswith(b"../")


def _is_below(path: bytes, root: bytes) -> bool:
    return path == root or path.startswith(root.rstrip(b"/") + b"/")
