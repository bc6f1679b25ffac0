"""Profiles written by hand: one TOML file a cluster, each fact beside its source and date."""

from __future__ import annotations

import tomllib
from importlib import resources
from typing import Any

import msgspec

from voyageur.site.model import Site
from voyageur.units import Duration, Size


def names() -> list[str]:
    folder = resources.files("voyageur.site") / "profiles"
    return sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml"))


def load(name: str) -> Site:
    text = (resources.files("voyageur.site") / "profiles" / f"{name}.toml").read_text(encoding="utf-8")
    return from_toml(name, text)


def from_toml(name: str, text: str) -> Site:
    facts = {"engine": "slurm", **tomllib.loads(text), "name": name}
    return msgspec.convert(facts, Site, dec_hook=_unit_from_text, strict=True)


def _unit_from_text(wanted: type, value: Any) -> Any:
    if wanted in (Duration, Size):
        return wanted.parse(value)
    raise NotImplementedError(wanted)
