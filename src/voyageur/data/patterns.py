"""Which members are meant: `val/*`, `val/`, `*.jpg`, or a name."""

from __future__ import annotations

import fnmatch
import functools
import re
from collections.abc import Iterator, Sequence

from voyageur.errors import SpecError
from voyageur.job.data import Pack
from voyageur.job.data.pack import as_text


def chosen(pack: Pack, patterns: Sequence[str]) -> Iterator[int]:
    """In the order of the pack; all when there is no pattern."""
    if not patterns:
        yield from range(len(pack))
        return
    unused = {pattern: _compiled(pattern) for pattern in patterns}
    every = list(unused.values())
    for number, name in enumerate(pack.names):
        if any(pattern.match(name) for pattern in every):
            yield number
            if unused:
                unused = {text: pattern for text, pattern in unused.items() if not pattern.match(name)}
    if unused:
        raise SpecError(
            f"nothing in {pack.path} is called {' or '.join(unused)}", hint=f"`voy data ls {pack.path}` lists it"
        )


def matches(name: bytes, patterns: Sequence[str]) -> bool:
    return not patterns or any(_compiled(pattern).match(as_text(name)) for pattern in patterns)


@functools.cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """A star goes on over slashes; a folder stands for all below it."""
    folder = fnmatch.translate(pattern.rstrip("/") + "/*")
    return re.compile(folder if pattern.endswith("/") else f"{fnmatch.translate(pattern)}|{folder}")
