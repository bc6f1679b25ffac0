"""Where the ranks meet: an address of the first node that the others reach, and a port that is free there.

Asked in the job's own process, on the first node, before any rank starts. Names are not trusted: on many clusters a
node's name leads to the slow network, to 127.0.1.1 or nowhere, and every recipe with the first name then hangs.
"""

import contextlib
import fcntl
import hashlib
import re
import socket
import struct
import subprocess
from typing import Dict, Iterator, List, Mapping, Optional

_SIOCGIFADDR = 0x8915  # linux/sockios.h
_PATIENCE = 10.0


class MeetingError(Exception):
    pass


def meet(environment: Mapping[str, str]) -> Dict[str, str]:
    """For all tasks. What somebody has set themselves stays."""
    names = node_names(environment)
    addresses = [_given(environment["MASTER_ADDR"])] if environment.get("MASTER_ADDR") else []
    addresses += _addresses(names[len(addresses) :], environment, first=not addresses)
    return {
        "VOY_NODE_NAMES": environment.get("VOY_LOCAL_NAMES") or ",".join(names),
        "VOY_NODE_ADDRESSES": ",".join(addresses),
        "MASTER_ADDR": addresses[0],
        "MASTER_PORT": _port(environment),
    }


def _given(address: str) -> str:
    """Said by the user. Who waits for a name that leads nowhere waits without a word."""
    if not resolved(address):
        raise MeetingError("MASTER_ADDR=%s does not resolve on %s; leave it out" % (address, socket.gethostname()))
    return address


def node_names(environment: Mapping[str, str]) -> List[str]:
    listed = environment.get("SLURM_JOB_NODELIST", "")
    if not re.search(r"[\[,]", listed):
        return [listed or socket.gethostname()]
    return _asked(["scontrol", "show", "hostnames", listed]).split() or listed.split(",")


def _asked(argv: List[str]) -> str:
    try:
        answer = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=_PATIENCE, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return answer.stdout.decode("utf-8", "replace")


def signals_reach_all(environment: Mapping[str, str]) -> bool:
    """Does Slurm signal all processes of a step, and not only the tasks? A job in a cgroup of Slurm's needs not ask."""
    if "VOY_LOCAL_TOOLS" in environment:
        return False
    with contextlib.suppress(OSError), open("/proc/self/cgroup") as file:
        if "slurm" in file.read():
            return False
    return "proctrack/linuxproc" in _asked(["scontrol", "show", "config"])


# ── addresses ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _addresses(names: List[str], environment: Mapping[str, str], first: bool) -> List[str]:
    """A job on one node needs no network at all."""
    if first and len(names) == 1:
        return [_own_numbers(names[0]) or "127.0.0.1"]
    told = "" if all(_own_numbers(name) for name in names) else _asked(["scontrol", "show", "node", ",".join(names)])
    return [_address(name, environment, told, own=first and not place) for place, name in enumerate(names)]


def _address(name: str, environment: Mapping[str, str], told: str, own: bool) -> str:
    found = next(_ways(name, environment, told, own), None)
    if found is None:
        raise MeetingError(
            "the node name %s does not resolve on %s, and Slurm tells no address of it; "
            "set MASTER_ADDR under [env.variables] to one that the nodes reach" % (name, socket.gethostname())
        )
    return found


def _ways(name: str, environment: Mapping[str, str], told: str, own: bool) -> Iterator[str]:
    """The best first: what the site's profile names, what the name leads to, what Slurm itself uses."""
    candidates = [_own_numbers(name)]
    if environment.get("VOY_MASTER_SUFFIX"):
        candidates.append(resolved(name + environment["VOY_MASTER_SUFFIX"]))
    if own:
        candidates += [address_of(interface) for interface in interfaces_named(environment)]
    candidates += [_not_loopback(resolved(name)), _told_by_slurm(name, told)]
    yield from (address for address in candidates if address)


def interfaces_named(environment: Mapping[str, str]) -> List[str]:
    """`hsn0, hsn1`; a name without a number stands for all that begin with it."""
    asked = [part.strip() for part in environment.get("VOY_INTERFACE", "").split(",") if part.strip()]
    there = [name for _, name in socket.if_nameindex()]
    return [name for part in asked for name in there if name == part or re.fullmatch(re.escape(part) + r"\d+", name)]


def _own_numbers(name: str) -> str:
    return name if re.fullmatch(r"\d+(\.\d+){3}", name) else ""


def resolved(name: str) -> str:
    with contextlib.suppress(OSError, UnicodeError):
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
        ordered = sorted(found, key=lambda one: one[0] != socket.AF_INET)
        return str(ordered[0][4][0]) if ordered else ""
    return ""


def _not_loopback(address: str) -> str:
    """Debian writes a machine's own name as 127.0.1.1 into its hosts file; nobody else reaches it there."""
    return "" if address.startswith("127.") or address == "::1" else address


def _told_by_slurm(name: str, told: str) -> str:
    """NodeAddr is how Slurm's own daemons reach it. It may be a name once more."""
    found = re.search(r"NodeName=%s\b.*?NodeAddr=(\S+)" % re.escape(name), told, re.DOTALL)
    return resolved(found.group(1)) if found else ""


def address_of(interface: str) -> str:
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        packed = fcntl.ioctl(probe.fileno(), _SIOCGIFADDR, struct.pack("256s", interface[:15].encode()))
        return socket.inet_ntoa(packed[20:24])
    return ""


def own_address(environment: Mapping[str, str], node: int) -> str:
    """Of this node, as the first one has found it out for all."""
    addresses = environment.get("VOY_NODE_ADDRESSES", "").split(",")
    named = [address_of(interface) for interface in interfaces_named(environment)] if len(addresses) > 1 else []
    return next(filter(None, [*named, addresses[node] if node < len(addresses) else ""]), "127.0.0.1")


def interface_towards(address: str) -> Optional[str]:
    """The interface that has this address, or the one by which it is reached."""
    own = {address_of(name): name for _, name in socket.if_nameindex()}
    if address in own:
        return own[address]
    if address.startswith("127."):
        return "lo"
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((address, 9))  # sends nothing
        return own.get(probe.getsockname()[0])
    return None


def gloo_interface(environment: Mapping[str, str]) -> Dict[str, str]:
    """gloo offers the address of its host's name. Where that leads nowhere, or to itself, it is told the interface."""
    if "," not in environment.get("VOY_NODE_ADDRESSES", "") or environment.get("GLOO_SOCKET_IFNAME"):
        return {}
    master = environment.get("MASTER_ADDR", "")
    if _not_loopback(resolved(socket.gethostname())) or master.startswith("127."):
        return {}
    interface = interface_towards(master)
    return {"GLOO_SOCKET_IFNAME": interface} if interface else {}


# ── ports ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _port(environment: Mapping[str, str]) -> str:
    """From the run's token, so that two jobs on a node begin to look in different places; then the first free one."""
    count = int(environment.get("VOY_PORTS", "1"))
    asked = environment.get("MASTER_PORT")
    if asked:
        if not asked.isdigit() or not _is_free(int(asked), 1):
            raise MeetingError("MASTER_PORT=%s is in use on %s; leave it out" % (asked, socket.gethostname()))
        return asked
    low, high = _range()
    seed = "%s.%s" % (environment.get("VOY_TOKEN", ""), environment.get("VOY_ATTEMPT", ""))
    start = int(hashlib.sha256(seed.encode()).hexdigest()[:8], 16)
    for number in range(high - low):
        port = low + (start + number * count) % (high - low - count)
        if _is_free(port, count):
            return str(port)
    raise MeetingError("no port between %d and %d is free on %s" % (low, high, socket.gethostname()))


def _range() -> "tuple[int, int]":
    """Below those that the kernel gives to outgoing connections."""
    high = 32_768
    with contextlib.suppress(OSError, ValueError), open("/proc/sys/net/ipv4/ip_local_port_range") as file:
        high = int(file.read().split()[0])
    return (high - 12_000, high) if high > 14_000 else (61_001, 65_500)


def _is_free(port: int, count: int) -> bool:
    return all(_can_bind(number) for number in range(port, port + count))


def _can_bind(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
        except OSError:
            return False
    return True
