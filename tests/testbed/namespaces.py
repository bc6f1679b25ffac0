"""Nodes of kind P: a machine's worth of namespaces each, joined by one bridge."""

import ctypes
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from .layout import Layout
from .polling import poll_until
from .processes import alive, living_children

_NODE_SCRIPT = Path(__file__).with_name("node.sh")
# The mount namespace last: after it /proc is the node's own and the host's pids mean nothing there.
_NAMESPACES = ("net", "uts", "pid", "mnt")
_MOUNTS = ["--mount", "--mount-proc", "--propagation=slave"]
_UNSHARE = ["unshare", "--net", "--uts", *_MOUNTS, "--pid", "--fork", "--kill-child"]


def make_bridge(layout: Layout) -> None:
    name = layout.bridge
    _ip(f"link add {name} type bridge\naddress add {layout.address}/24 dev {name}\nlink set {name} up\n")


def make_node(layout: Layout, node: str) -> None:
    """Make the node's namespaces anew; their first process is in `NODE-init.pid`."""
    up = layout.root / "run" / f"{node}.up"
    up.unlink(missing_ok=True)
    with layout.log(f"{node}-init").open("ab") as log:
        shell = subprocess.Popen(
            [*_UNSHARE, "sh", str(_NODE_SCRIPT), str(layout.root), node],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, cwd="/",
        )  # fmt: skip
    poll_until(up.exists, 10, f"the namespaces of {node}")
    [first] = living_children()[shell.pid]
    layout.pid_file(f"{node}-init").write_text(str(first), encoding="utf-8")
    _plug_cable(layout, node, first)


def _plug_cable(layout: Layout, node: str, first: int) -> None:
    cable = cable_of(layout, node)
    remove_link(cable)  # of a node that was there before: the kernel removes it late
    _ip(f"link add {cable} type veth peer name eth0 netns {first}\n")
    _ip(f"link set {cable} master {layout.bridge} up\n")
    inside = f"link set lo up\naddress add {layout.node_addresses[node]}/24 dev eth0\nlink set eth0 up\n"
    # Some programs learn their own address from the default route; nothing is forwarded.
    _ip(f"{inside}route add default via {layout.address}\n", ["nsenter", f"--net=/proc/{first}/ns/net"])


def cable_of(layout: Layout, node: str) -> str:
    """The host's end of the node's network cable."""
    return f"{layout.bridge}{layout.nodes.index(node) + 1}"


def remove_link(name: str) -> None:
    if Path(f"/sys/class/net/{name}").exists():
        subprocess.run(["ip", "link", "delete", name], capture_output=True, check=False)


def node_is_up(layout: Layout, node: str) -> bool:
    path = layout.pid_file(f"{node}-init")
    return path.exists() and alive(int(path.read_text(encoding="utf-8")))


def _ip(batch: str, prefix: Sequence[str] = ()) -> None:
    subprocess.run([*prefix, "ip", "-batch", "-"], input=batch, text=True, check=True, capture_output=True)


def spawn_inside(first: int, argv: Sequence[str], environment: Mapping[str, str], log: Path) -> int:
    """Start a program in the namespaces of process `first`; its pid as the host sees it.

    The process in between is gone when this returns. `nsenter` would stay as parent, stop together with a
    paused daemon, and keep it as a zombie.
    """
    reader, writer = os.pipe()
    middle = os.fork()
    if middle == 0:
        try:
            _enter(first)
            _fork_and_report(writer, argv, environment, log)
        finally:
            os._exit(1)
    os.close(writer)
    with os.fdopen(reader) as answer:
        text = answer.read()
    os.waitpid(middle, 0)
    if not text:
        raise OSError(f"cannot enter the namespaces of process {first}")
    return int(text)


def _enter(first: int) -> None:
    setns = ctypes.CDLL(None, use_errno=True).setns
    for handle in [os.open(f"/proc/{first}/ns/{name}", os.O_RDONLY) for name in _NAMESPACES]:
        if setns(handle, 0) != 0:
            raise OSError(ctypes.get_errno(), "setns")


def _fork_and_report(writer: int, argv: Sequence[str], environment: Mapping[str, str], log: Path) -> None:
    # A pid namespace holds for children only, hence the second fork.
    child = os.fork()
    if child:
        os.write(writer, str(child).encode())
        os._exit(0)
    os.setsid()
    os.chdir("/")
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    for source, target in ((os.open("/dev/null", os.O_RDONLY), 0), (output, 1), (output, 2)):
        os.dup2(source, target)
    os.execvpe(argv[0], list(argv), dict(environment))
