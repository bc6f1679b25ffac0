"""How each daemon of a bed is started, and how anyone can tell that it answers."""

import os
import socket
import subprocess
from collections.abc import Mapping
from pathlib import Path

from .layout import Layout
from .namespaces import make_node, node_is_up, spawn_inside

_DATABASE_SCRIPT = Path(__file__).with_name("database.sh")
ADMINISTRATOR_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


_OUTER_SLURM = ("SLURM", "SBATCH", "SRUN", "SALLOC", "SQUEUE", "SACCT", "SINFO", "SCANCEL")
_STATES_OF_USE = {"idle", "mixed", "allocated", "completing"}


def start_service(layout: Layout, name: str) -> int:
    """Start one daemon and note its pid; the caller waits until it answers."""
    apart = layout.kind == "P" and name in layout.nodes
    pid = _start_on_node(layout, name) if apart else _start_here(layout, name)
    layout.pid_file(name).write_text(str(pid), encoding="utf-8")
    return pid


def _start_on_node(layout: Layout, node: str) -> int:
    if not node_is_up(layout, node):
        make_node(layout, node)
    first = int(layout.pid_file(f"{node}-init").read_text(encoding="utf-8"))
    return spawn_inside(first, _argv(layout, node), _environment(layout), layout.log(f"{node}-output"))


def _start_here(layout: Layout, name: str) -> int:
    with layout.log(f"{name}-output").open("ab") as log:
        process = subprocess.Popen(
            _argv(layout, name), env=_environment(layout), cwd="/",
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
    return process.pid


def _argv(layout: Layout, name: str) -> list[str]:
    conf = str(layout.conf)
    if name in layout.nodes:
        return ["slurmd", "-D", "-N", name, "-f", conf]
    commands = {
        "munge": _munge_argv(layout),
        "database": ["sh", str(_DATABASE_SCRIPT), str(layout.database_socket.parent)],
        "accounting": ["slurmdbd", "-D"],
        "controller": ["slurmctld", "-D", "-f", conf],
    }
    return commands[name]


def _munge_argv(layout: Layout) -> list[str]:
    folder = layout.root / "munge"
    files = [f"--{name}-file={folder / name}" for name in ("key", "pid", "seed")]
    places = [f"--socket={layout.munge_socket}", f"--log-file={layout.log('munge')}", *files]
    return ["munged", "--foreground", "--force", "--num-threads=10", *places]


def _environment(layout: Layout) -> Mapping[str, str]:
    """Nothing of the owner's: a daemon hands its environment on to prologs and jobs."""
    # The MariaDB client library finds a socket that is not in its usual place by MYSQL_UNIX_PORT.
    return {
        "PATH": ADMINISTRATOR_PATH,
        "LANG": "C.UTF-8",
        "SLURM_CONF": str(layout.conf),
        "MYSQL_UNIX_PORT": str(layout.database_socket),
    }


def is_ready(layout: Layout, name: str) -> bool:
    if name in layout.nodes:
        place = (layout.node_addresses[name], layout.node_ports[name])
        return _answers(place) and node_state(layout, name) in _STATES_OF_USE
    if name == "munge":
        return _answers(str(layout.munge_socket))
    if name == "database":
        return _answers(str(layout.database_socket))
    if name == "accounting":
        return _answers((layout.address, layout.accounting_port))
    return _answers((layout.address, layout.controller_port)) and _controller_is_up(layout)


def _answers(place: str | tuple[str, int]) -> bool:
    family = socket.AF_UNIX if isinstance(place, str) else socket.AF_INET
    with socket.socket(family) as probe:
        probe.settimeout(1)
        try:
            probe.connect(place)
        except OSError:
            return False
    return True


def _controller_is_up(layout: Layout) -> bool:
    return " is UP" in ask_slurm(layout, "scontrol", "ping")


def node_state(layout: Layout, node: str) -> str:
    """As sinfo says it, with its flags: `idle`, `down*`, `drained`."""
    which = ["--partition=low", f"--nodes={node}"]
    return ask_slurm(layout, "sinfo", "--noheader", *which, "--format=%T").strip()


def ask_slurm(layout: Layout, *argv: str) -> str:
    """What a Slurm command printed, or nothing where it failed or the controller does not answer."""
    try:
        answer = subprocess.run(
            argv, env=client_environment(layout), capture_output=True, text=True, timeout=15, check=False
        )
    except subprocess.TimeoutExpired:
        return ""
    return answer.stdout if answer.returncode == 0 else ""


def client_environment(layout: Layout) -> dict[str, str]:
    """The owner's environment without what an outer Slurm may have put there."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_OUTER_SLURM)}
    return {**kept, "SLURM_CONF": str(layout.conf)}
