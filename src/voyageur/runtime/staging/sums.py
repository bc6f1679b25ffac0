"""Digests beside a file that travels, one for each of its parts, so that what arrives is verified while it arrives.

A pack has them in its index. Environments and images, which are one file each, have `FILE.sums`.
"""

import hashlib
import json
import os
from typing import Iterator, List, NamedTuple, Optional

from voyageur.job.data.index import CHUNK
from voyageur.runtime.folder import read_json, write_atomically

SUFFIX = ".sums"


class Sums(NamedTuple):
    size: int
    parts: List[str]

    @property
    def digest(self) -> str:
        """One name for the whole content."""
        return hashlib.sha256(("%d %s" % (self.size, " ".join(self.parts))).encode("ascii")).hexdigest()


def sums_of(path: str) -> Sums:
    return Sums(os.stat(path).st_size, list(_parts(path)))


def _parts(path: str) -> Iterator[str]:
    with open(path, "rb") as file:
        for part in iter(lambda: file.read(CHUNK), b""):
            yield hashlib.sha256(part).hexdigest()


def write_sums(path: str) -> Sums:
    found = sums_of(path)
    write_atomically(path + SUFFIX, json.dumps({"size": found.size, "sha256": found.parts}).encode("ascii"))
    return found


def read_sums(path: str) -> Optional[Sums]:
    found = read_json(path + SUFFIX) or {}
    size, parts = found.get("size"), found.get("sha256")
    return Sums(size, parts) if isinstance(size, int) and isinstance(parts, list) else None
