"""Where Voyageur keeps its own few files, and where scratch is."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from voyageur.errors import SpecError


def user_file(environment: Mapping[str, str]) -> Path:
    return _home(environment, "XDG_CONFIG_HOME", ".config") / "voyageur" / "config.toml"


def sites_folder(environment: Mapping[str, str]) -> Path:
    """A user's own profiles of clusters, and what is laid over those of the package."""
    return _home(environment, "XDG_CONFIG_HOME", ".config") / "voyageur" / "sites"


def state_folder(environment: Mapping[str, str]) -> Path:
    return _home(environment, "XDG_STATE_HOME", ".local/state") / "voyageur"


def _home(environment: Mapping[str, str], variable: str, otherwise: str) -> Path:
    return Path(environment.get(variable) or f"{_expanded('~')}/{otherwise}")


def scratch_folder(asked: str | None, site_scratch: str, environment: Mapping[str, str]) -> str:
    """What was asked for; the site's; `~/scratch` where it is; else `~/voyageur`."""
    if asked:
        return _whole(os.path.expandvars(_expanded(asked)))
    known = os.path.expandvars(site_scratch) if site_scratch else ""
    if known and "$" not in known:
        return _whole(known)
    home = _expanded("~")
    return f"{home}/scratch" if os.path.isdir(f"{home}/scratch") else f"{home}/voyageur"


def _expanded(path: str) -> str:
    """`voy status` comes by here all day: what complains is imported only when there is something to complain about."""
    expanded = os.path.expanduser(path)
    if expanded.startswith("~"):
        from voyageur.spec.home import expand_home

        return expand_home(path)
    return expanded


def _whole(path: str) -> str:
    if "$" in path:
        raise SpecError(
            "the scratch folder names a variable that is not set",
            facts=[path],
            hint="set it, or use `--scratch`",
        )
    return str(Path(path).absolute())
