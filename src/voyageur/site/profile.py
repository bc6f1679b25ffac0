"""Profiles written by hand: one TOML file a cluster, each fact beside its source and date."""

from __future__ import annotations

import tomllib
from importlib import resources
from typing import Any

import msgspec

from voyageur.errors import SiteError
from voyageur.site.model import Site
from voyageur.units import Duration, Size, UnitError


def names() -> list[str]:
    folder = resources.files("voyageur.site") / "profiles"
    return sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml"))


def load(name: str) -> Site:
    text = (resources.files("voyageur.site") / "profiles" / f"{name}.toml").read_text(encoding="utf-8")
    return from_toml(name, text)


def from_toml(name: str, text: str) -> Site:
    facts = {"engine": "slurm", **tomllib.loads(text), "name": name}
    try:
        return msgspec.convert(_with_units(facts), Site, strict=True)
    except (msgspec.ValidationError, UnitError) as problem:
        raise SiteError(f"the profile of {name} is not right", facts=[str(problem)]) from None


_UNITS: dict[str, type[Duration] | type[Size]] = {
    "time_limit": Duration,
    "kill_wait": Duration,
    "message_timeout": Duration,
    "memory": Size,
    "memory_per_cpu": Size,
    "memory_each": Size,
}


def _with_units(facts: Any) -> Any:
    """Texts like `7d` and `124G` as what they mean."""
    if isinstance(facts, list):
        return [_with_units(item) for item in facts]
    if not isinstance(facts, dict):
        return facts
    return {
        key: msgspec.to_builtins(_UNITS[key].parse(value))
        if key in _UNITS and isinstance(value, str)
        else _with_units(value)
        for key, value in facts.items()
    }
