"""Names and passwords of private indexes. They stand where pip finds them, and never in a lock or on a command line."""

from __future__ import annotations

import base64
import netrc
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

_VARIABLE = re.compile(r"\$\{([A-Z0-9_]+)\}")


def filled(text: str, variables: Mapping[str, str]) -> str:
    """`${TOKEN}` in a requirements file, as pip reads it: one that is not set is left as it is."""
    return _VARIABLE.sub(lambda match: variables.get(match[1], match[0]), text)


def header_for(address: str, indexes: Iterable[str], variables: Mapping[str, str]) -> str | None:
    """What to say to the host of this address: as one of the indexes says it, else as ~/.netrc does."""
    host = urlsplit(address).hostname
    for index in indexes:
        parts = urlsplit(index)
        if parts.hostname == host and parts.username:
            return _basic(unquote(parts.username), unquote(parts.password or ""))
    known = _from_netrc(host or "", variables)
    return _basic(*known) if known else None


def _basic(name: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode("ascii")


def _from_netrc(host: str, variables: Mapping[str, str]) -> tuple[str, str] | None:
    path = variables.get("NETRC") or str(Path(variables.get("HOME") or os.path.expanduser("~")) / ".netrc")
    try:
        found = netrc.netrc(path).authenticators(host)
    except (OSError, netrc.NetrcParseError):
        return None
    return (found[0], found[2]) if found else None
