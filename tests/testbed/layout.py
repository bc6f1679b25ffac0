"""Where everything of one bed is: names, ports, addresses and folders that no other cluster uses."""

import dataclasses
import ipaddress
import json
import os
import pwd
import random
import socket
import string
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

Kind = Literal["P", "S"]
Network = ipaddress.IPv4Network

PARENT = Path("/var/tmp")
PREFIX = "voyageur-bed-"
NODE_COUNT = 4
GPU_COUNT = 4
# Below the kernel's ephemeral range (32768 up), or an outgoing connection could take the port first.
PORTS = range(20000, 32000)
FOLDERS = ("etc", "run", "log", "state", "spool", "dev", "munge", "local", "shared")


@dataclass(frozen=True, kw_only=True)
class Layout:
    kind: Kind
    root: Path
    tag: str
    host: str
    user: str
    address: str
    controller_port: int
    accounting_port: int
    node_ports: dict[str, int]
    node_addresses: dict[str, str]
    settings: dict[str, str]

    @property
    def nodes(self) -> list[str]:
        return list(self.node_ports)

    @property
    def conf(self) -> Path:
        return self.root / "etc" / "slurm.conf"

    @property
    def shared(self) -> Path:
        return self.root / "shared"

    @property
    def munge_socket(self) -> Path:
        return self.root / "munge" / "socket"

    @property
    def database_socket(self) -> Path:
        return self.root / "mysql" / "socket"

    @property
    def bridge(self) -> str:
        return f"vb{self.tag}"

    def log(self, name: str) -> Path:
        return self.root / "log" / f"{name}.log"

    def pid_file(self, name: str) -> Path:
        """Holds the pid as the host sees it; Slurm's own files hold the pid inside the node."""
        return self.root / "run" / f"{name}.pid"

    def local(self, node: str) -> Path:
        return self.root / "local" / node if self.kind == "P" else Path("/tmp")

    def save(self) -> None:
        text = json.dumps(dataclasses.asdict(self), default=str, indent=1)
        (self.root / "bed.json").write_text(text, encoding="utf-8")


def load_layout(root: Path) -> Layout:
    fields: dict[str, Any] = json.loads((root / "bed.json").read_text(encoding="utf-8"))
    return Layout(**{**fields, "root": root})


def choose_layout(kind: Kind, settings: Mapping[str, str]) -> Layout:
    """Make the root folder and pick all names; nothing is started."""
    root = Path(tempfile.mkdtemp(prefix=PREFIX, dir=PARENT))
    # Letters only: Slurm would fold a digit in the name's stem into its host list expressions.
    tag = "".join(random.choices(string.ascii_lowercase, k=5))
    names = [f"{tag}{number}" for number in range(1, NODE_COUNT + 1)]
    first, second, *others = _free_ports(2 + NODE_COUNT)
    gateway, *places = _addresses(kind)
    layout = Layout(
        kind=kind,
        root=root,
        tag=tag,
        host=socket.gethostname().split(".")[0],
        user=pwd.getpwuid(os.geteuid()).pw_name,
        address=gateway,
        controller_port=first,
        accounting_port=second,
        node_ports=dict(zip(names, others, strict=True)),
        node_addresses=dict(zip(names, places, strict=True)),
        settings=dict(settings),
    )
    _make_folders(layout)
    layout.save()
    return layout


def _make_folders(layout: Layout) -> None:
    layout.root.chmod(0o755)
    for name in FOLDERS:
        _make_folder(layout.root / name, 0o755)
    layout.shared.chmod(0o1777)
    for node in layout.nodes:
        _make_folder(layout.root / "spool" / node, 0o755)
        _make_folder(layout.root / "local" / node, 0o1777)


def _make_folder(path: Path, mode: int) -> None:
    path.mkdir()
    path.chmod(mode)


def _free_ports(count: int) -> list[int]:
    candidates = random.sample(PORTS, k=50 * count)
    return [port for port in candidates if _is_free(port)][:count]


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("", port))
        except OSError:
            return False
    return True


def _addresses(kind: Kind) -> list[str]:
    """The controller's address, then one for each node."""
    if kind == "S":
        return ["127.0.0.1"] * (1 + NODE_COUNT)
    network = _unused_network()
    return [str(network[1])] + [str(network[10 + number]) for number in range(1, NODE_COUNT + 1)]


def _unused_network() -> Network:
    taken = _taken_networks()
    while True:
        network = Network(f"10.{random.randint(64, 250)}.{random.randint(0, 255)}.0/24")
        if not any(network.overlaps(other) for other in taken):
            return network


def _taken_networks() -> list[Network]:
    ask = ["ip", "-4", "-json", "route", "show", "table", "all"]
    answer = subprocess.check_output(ask, text=True)
    targets = [str(route.get("dst", "default")) for route in json.loads(answer or "[]")]
    return [Network(target, strict=False) for target in targets if target != "default"]
