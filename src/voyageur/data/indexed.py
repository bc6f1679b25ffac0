"""`voy data index`: archives that are there already become a pack."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from voyageur.data.errors import PackError, told
from voyageur.errors import SpecError
from voyageur.job.data.index import SUFFIX, Index
from voyageur.job.data.indexing import index_archives
from voyageur.runtime.folder import write_atomically


def write_index(archives: Sequence[str], out: str, force: bool, read: Callable[[int], None]) -> Index:
    path = out + SUFFIX
    for archive in archives:
        if not os.path.isfile(archive):
            raise SpecError(f"there is no archive {archive}", hint="`voy data pack` makes one of a folder")
        if os.path.dirname(os.path.abspath(archive)) != os.path.dirname(os.path.abspath(out)):
            raise SpecError(
                f"{archive} is in another folder than {path}", hint="archives and their index stand together"
            )
    if os.path.exists(path) and not force:
        raise SpecError(f"there is a {path} already", hint="`--force` replaces it")
    with told():
        parts = index_archives(archives, read)
    try:
        write_atomically(path, b"".join(parts), mode=0o666)
    except OSError as problem:
        raise PackError(f"{path} cannot be written: {problem.strerror}") from None
    return Index.load(path)
