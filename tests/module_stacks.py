"""Real module commands for tests: Lmod as it is installed, Environment Modules as `install.sh` has unpacked it."""

from __future__ import annotations

from pathlib import Path

import pytest

LMOD = Path("/usr/share/lmod/lmod/init/bash")
_UNPACKED = Path("/var/lib/voyageur-testbed/environment-modules")
_INIT, _COMMAND = "usr/share/modules/init/bash", "usr/lib/x86_64-linux-gnu/modulecmd.tcl"
KINDS = ("lmod", "environment-modules")


def write_profile(kind: str, home: Path, modules: Path, *more: str) -> None:
    """A login shell with that command, and with nothing of another one that the machine may have."""
    init = LMOD if kind == "lmod" else _init(home)
    if not init.exists():
        pytest.skip(f"{kind} is not here: tests/testbed/install.sh brings it")
    lines = ["unset BASH_ENV MODULES_CMD ${!LMOD_@}", f"source {init}", f"export MODULEPATH={modules}", *more]
    (home / ".bash_profile").write_text("".join(f"{line}\n" for line in lines))


def _init(home: Path) -> Path:
    """It names the place that it was meant for."""
    unpacked, init = _UNPACKED / _INIT, home / "modules-init.bash"
    if unpacked.exists():
        init.write_text(unpacked.read_text().replace(f"/{_COMMAND}", str(_UNPACKED / _COMMAND)))
    return init
