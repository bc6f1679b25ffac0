"""What several verbs of `voy data` take."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from voyageur.errors import SpecError

if TYPE_CHECKING:
    from voyageur.job.data import Pack

F = TypeVar("F", bound=Callable[..., Any])


def size_option(name: str, **how: Any) -> Callable[[F], F]:
    return click.option(name, metavar="SIZE", callback=_bytes, **how)


def _bytes(_: click.Context, parameter: click.Parameter, value: str | None) -> int | None:
    from voyageur.units import Size, UnitError

    if value is None:
        return None
    try:
        return Size.parse(value).bytes
    except UnitError as problem:
        raise SpecError(f"--{parameter.name} {value!r}: {problem}", hint="write it like 1G or 500M") from None


def open_pack(path: str) -> Pack:
    from voyageur.data.errors import told
    from voyageur.job import data

    with told():
        return data.open(path)
