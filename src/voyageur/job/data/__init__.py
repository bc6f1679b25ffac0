"""Datasets for programs, in a run and outside: `from voyageur.job import data`, then `data.open("imagenet")`.

Standard library only; torch, tensorflow and numpy are loaded by those parts alone that hand them something.
"""

import os
from typing import Any, Callable, Dict, Optional, Union

from voyageur.job.data import tar
from voyageur.job.data.errors import BrokenPack, DataError, NoSuchData, NotAPack, StaleIndex
from voyageur.job.data.folder import FolderPack
from voyageur.job.data.index import SUFFIX
from voyageur.job.data.pack import Names, Pack, Sample, Samples, shuffled
from voyageur.job.data.packed import TarPack
from voyageur.job.data.staged import staged
from voyageur.job.data.zipped import ZipPack

__all__ = [
    "BrokenPack",
    "DataError",
    "FolderPack",
    "Names",
    "NoSuchData",
    "NotAPack",
    "Pack",
    "Sample",
    "Samples",
    "StaleIndex",
    "TarPack",
    "ZipPack",
    "open",
    "shuffled",
    "staged",
    "tf",
    "torch",
]

_open = open


def open(name: Union[str, "os.PathLike[str]"], check: bool = False) -> Pack:
    """What the run has staged under that name; else a pack, a folder or a zip of that path.

    With `check`, the checksum of every member is compared when it is read.
    """
    here = staged()
    entry = here.get(os.fspath(name)) or _of_path(here, os.fspath(name))
    if entry is not None:
        return _open_path(entry["path"], entry, check)
    path = os.fspath(name)
    if not os.path.exists(path) and not os.path.exists(path + SUFFIX):
        facts = ["staged in this run: " + ", ".join(sorted(here))] if here else []
        raise NoSuchData("there is no dataset and no file %s" % path, facts, "paths count from %s" % os.getcwd())
    return _open_path(path, {}, check)


def _of_path(here: Dict[str, Any], path: str) -> Optional[Dict[str, Any]]:
    """A program that was given `{data.NAME}` has a path, and the same dataset is meant."""
    if os.sep not in path:
        return None
    plain = os.path.normpath(path)
    return next((entry for entry in here.values() if plain in (entry["path"], entry.get("from"))), None)


def _open_path(path: str, facts: Any, check: bool) -> Pack:
    if os.path.isdir(path):
        return FolderPack(path)
    if os.path.isfile(path) and not path.endswith(SUFFIX) and _starts_like_a_zip(path):
        return ZipPack(path)
    return TarPack(path, {key: value for key, value in facts.items() if key != "path"}, check)


def _starts_like_a_zip(path: str) -> bool:
    try:
        with _open(path, "rb") as file:
            start = file.read(tar.BLOCK)
    except OSError as problem:
        raise DataError("%s cannot be read: %s" % (path, problem.strerror)) from None
    # A tar begins with the name of its first file, which may be any.
    return start[:4] in (b"PK\x03\x04", b"PK\x05\x06") and not tar.is_header(start)


def torch(
    what: Any,
    transform: Optional[Callable[[Sample], Any]] = None,
    iterable: bool = False,
    shuffle: bool = False,
    seed: int = 0,
    views: bool = False,
) -> Any:
    """A torch Dataset of samples; with `iterable` an IterableDataset whose ranks and workers share them out."""
    from voyageur.job.data import loaders

    pack = what if isinstance(what, Pack) else open(what)
    if iterable:
        return loaders.SampleStream(pack, transform, shuffle=shuffle, seed=seed, views=views)
    return loaders.SampleDataset(pack, transform, views=views)


def tf(
    what: Any,
    transform: Optional[Callable[[Sample], Any]] = None,
    signature: Any = None,
    shuffle: bool = False,
    seed: int = 0,
) -> Any:
    """A tf.data.Dataset of samples, of which every rank gets its share; what `transform` makes of them is told by
    `signature`, as in `Dataset.from_generator`."""
    from voyageur.job.data import tensors

    pack = what if isinstance(what, Pack) else open(what)
    return tensors.dataset(pack, transform, signature, shuffle, seed)
