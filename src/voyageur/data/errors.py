"""What the reading library says, as errors of the command line."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from voyageur.errors import RunError, SpecError
from voyageur.job.data import DataError


def told_name(name: bytes) -> str:
    return name.decode("utf-8", "backslashreplace")


class PackError(RunError):
    """The machine did not do its part: a full disk, a folder that may not be written."""


@contextlib.contextmanager
def told() -> Iterator[None]:
    try:
        yield
    except DataError as error:
        raise SpecError(error.what, facts=error.facts, hint=error.hint) from None
