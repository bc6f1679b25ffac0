"""Whether this machine can carry a bed, and if not, why, in one line."""

import os
import shutil
import subprocess
from pathlib import Path

from .layout import Kind
from .services import ADMINISTRATOR_PATH

PROGRAMS: dict[Kind, dict[str, str]] = {
    "S": {"slurmctld": "slurm-wlm", "slurmd": "slurm-wlm", "sbatch": "slurm-wlm", "munged": "munge"},
    "P": {"slurmdbd": "slurmdbd", "mariadbd": "mariadb-server", "ip": "iproute2"},
}
_CONTROLLERS = ("freezer", "memory", "devices", "cpuset")


def why_not(kind: Kind) -> str | None:
    """The reason why a bed of this kind cannot start here, or None."""
    reason = _missing_programs(kind)
    if reason is None and kind == "P":
        reason = _not_root() or _no_cgroups() or _no_namespaces()
    return reason


def _missing_programs(kind: Kind) -> str | None:
    needed = PROGRAMS["S"] if kind == "S" else PROGRAMS["S"] | PROGRAMS["P"]
    found = {program for program in needed if shutil.which(program, path=ADMINISTRATOR_PATH)}
    packages = sorted({package for program, package in needed.items() if program not in found})
    if not packages:
        return None
    return f"no test cluster without the packages {' '.join(packages)}: run tests/testbed/install.sh"


def _not_root() -> str | None:
    return None if os.geteuid() == 0 else "a test cluster of kind P needs root"


def _no_cgroups() -> str | None:
    missing = [name for name in _CONTROLLERS if not os.access(Path("/sys/fs/cgroup", name, "tasks"), os.W_OK)]
    if not missing:
        return None
    return f"a test cluster of kind P needs cgroup v1, writable; not here: {' '.join(missing)}"


def _no_namespaces() -> str | None:
    inside = ["unshare", "--net", "--uts", "--mount", "--pid", "--fork"]
    attempt = [*inside, "ip", "link", "add", "probe", "type", "bridge"]
    path = {"PATH": ADMINISTRATOR_PATH}
    answer = subprocess.run(attempt, capture_output=True, text=True, check=False, env=path)
    if answer.returncode == 0:
        return None
    return f"a test cluster of kind P may not make namespaces or a bridge here: {answer.stderr.strip()}"
