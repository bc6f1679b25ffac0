"""All that goes into a pack, in the order in which it goes there, from one source or from several at once."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from voyageur.data.errors import told_name
from voyageur.data.listing import Listing
from voyageur.errors import SpecError
from voyageur.job.data import tar
from voyageur.job.data.folder import in_order

SHOWN = 5


class Entry(NamedTuple):
    name: bytes
    origin: int = 0
    kind: bytes = tar.FILE
    target: bytes = b""


class Entries:
    def __init__(self, listings: Sequence[Listing], paths: Sequence[str]) -> None:
        self.count = sum(listing.count for listing in listings)
        self._listings = listings
        if len(listings) > 1:
            _check_no_doubles(listings, paths)

    def __iter__(self) -> Iterator[Entry]:
        folders = {folder for listing in self._listings for folder in listing.folders()}
        for folder in sorted(folders, key=lambda name: name.replace(b"/", b"\0")):
            found = [self._of_folder(number, folder) for number in range(len(self._listings))]
            yield from found[0] if len(found) == 1 else _merged(found)

    def _of_folder(self, origin: int, folder: bytes) -> list[Entry]:
        listing = self._listings[origin]
        before = folder + b"/" if folder else b""
        if folder in listing.empty:
            holds = any(folder in other.files or folder in other.links for other in self._listings)
            return [] if holds else [Entry(before, origin, tar.FOLDER)]
        links = listing.links.get(folder, {})
        return [
            Entry(before + name, origin, tar.LINK, links[name]) if name in links else Entry(before + name, origin)
            for name in listing.names(folder)
        ]


def _merged(found: list[list[Entry]]) -> list[Entry]:
    entries = sorted(itertools.chain(*found), key=lambda entry: in_order(os.path.basename(entry.name)))
    seen: set[bytes] = set()
    # an empty folder may be in several sources
    return [entry for entry in entries if not (entry.name in seen or seen.add(entry.name))]  # type: ignore[func-returns-value]


def _check_no_doubles(listings: Sequence[Listing], paths: Sequence[str]) -> None:
    folders = {part for listing in listings for folder in listing.folders() for part in _with_parents(folder)}
    seen: dict[bytes, str] = {}
    doubles = []
    for listing, path in zip(listings, paths, strict=True):
        for folder in listing.folders():
            for name in listing.names(folder):
                whole = folder + b"/" + name if folder else name
                if whole in seen:
                    doubles.append(f"{told_name(whole)}: in {seen[whole]} and in {path}")
                elif whole in folders:
                    doubles.append(f"{told_name(whole)}: a file in {path}, and a folder elsewhere")
                seen.setdefault(whole, path)
    if doubles:
        raise SpecError(
            "two files of one name" if len(doubles) == 1 else f"{len(doubles)} names stand for two files each",
            facts=[*doubles[:SHOWN], *(["..."] if len(doubles) > SHOWN else [])],
            hint="pack the folder above them, or each into a pack of its own",
        )


def _with_parents(folder: bytes) -> Iterator[bytes]:
    while folder:
        yield folder
        folder = os.path.dirname(folder)
