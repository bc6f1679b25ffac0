"""Which files on the node are results: those that the patterns name, and that the program has written."""

import json
import os
import stat
from typing import Dict, Iterator, List, Mapping, NamedTuple, Tuple

from voyageur.runtime.patterns import matches

VARIABLE = "VOY_RESULTS"
FOLDER = "VOY_RESULTS_DIR"
_NOT_WORK = ("__pycache__", ".git", ".pytest_cache")


class Wish(NamedTuple):
    patterns: Tuple[str, ...]
    every: float


class Found(NamedTuple):
    """A file of the program's, by the name that it will have at home."""

    name: str
    path: str
    size: int
    mtime_ns: int
    mode: int


def read_wish(environment: Mapping[str, str]) -> Wish:
    told = json.loads(environment.get(VARIABLE) or "{}")
    return Wish(tuple(told.get("save", ())), float(told.get("every", 600)))


class Roots(NamedTuple):
    """`code` holds the frozen code as well: what is older than its unpacking is no result."""

    code: str
    unpacked_at: int
    tmp: str
    site: str  # the folder that the site has made for the job, or nothing


def find(roots: Roots, patterns: Tuple[str, ...]) -> List[Found]:
    """Small ones first. A name that is in the program's folder and in the temp folder is `tmp/...` the second time."""
    found: Dict[str, Found] = {}
    for one in _below(roots.code, roots.unpacked_at):
        if matches(one.name, patterns):
            found[one.name] = one
    for folder in [roots.tmp] + ([roots.site] if roots.site and roots.site != roots.tmp else []):
        for one in _below(folder, 0, ("code", "mnt-*", "voy-*", ".voyageur*")):
            if matches(one.name, patterns):
                name = one.name if one.name not in found else "tmp/" + one.name
                found[name] = one._replace(name=name)
    return sorted(found.values(), key=lambda one: (one.size, one.name))


def _below(root: str, since: int, ours: Tuple[str, ...] = ()) -> Iterator[Found]:
    """Plain files; a link stays where it is."""
    for folder, folders, names in os.walk(root):
        at_top = folder == root
        folders[:] = [name for name in folders if name not in _NOT_WORK and not (at_top and matches(name, ours))]
        for name in names:
            if at_top and matches(name, ours):
                continue
            path = os.path.join(folder, name)
            try:
                status = os.lstat(path)
            except OSError:
                continue
            if stat.S_ISREG(status.st_mode) and status.st_ctime_ns > since:
                yield Found(os.path.relpath(path, root), path, status.st_size, status.st_mtime_ns, status.st_mode)
