"""Do the nodes of a job reach each other, and how fast? A number goes around all of them, then a few megabytes.

The first node gathers what every node reports, and tells each who comes after it. Then each sends to the next and
receives from the one before, so that every node is tried in both directions, on ports as gloo and NCCL take them.
"""

import contextlib
import json
import socket
import threading
import time
from typing import Any, BinaryIO, Dict, List, NamedTuple, Optional, Tuple

Report = Dict[str, Any]
_BLOCK = 1 << 20
_BLOCKS = 16  # what goes over each link
_LINK_SECONDS = 10.0


class Line(NamedTuple):
    """Between the first node and another."""

    link: socket.socket
    file: BinaryIO

    def send(self, what: Any) -> None:
        self.link.sendall(json.dumps(what).encode() + b"\n")

    def receive(self) -> Any:
        return json.loads(self.file.readline().decode() or "null")


def line_on(link: socket.socket, patience: float) -> Line:
    link.settimeout(patience)
    return Line(link, link.makefile("rb"))


# ── reports to the first node ────────────────────────────────────────────────────────────────────────────────────────


def gather(port: int, count: int, patience: float) -> "List[Tuple[Report, Line]]":
    """The reports of all others that come in time."""
    found: List[Tuple[Report, Line]] = []
    deadline = time.monotonic() + patience
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(("", port))
        server.listen(count)
        while len(found) < count - 1 and time.monotonic() < deadline:
            server.settimeout(max(0.1, deadline - time.monotonic()))
            with contextlib.suppress(OSError, ValueError):
                line = line_on(server.accept()[0], 5.0)
                report = line.receive()
                line.link.settimeout(patience)
                found.append((report, line))
    return found


def report_to(place: "Tuple[str, int]", report: Report, patience: float) -> Optional[Line]:
    """Again and again, until the first node listens. None: it did not answer, and will say so itself."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError):
            line = line_on(socket.create_connection(place, 5.0), patience + 5.0)
            line.send(report)
            return line
        time.sleep(0.2)
    return None


# ── around all of them ───────────────────────────────────────────────────────────────────────────────────────────────


class Ring:
    """One node's place in it: it listens before anybody is told where."""

    def __init__(self) -> None:
        self._server = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._server.bind(("", 0))
        self._server.listen(1)
        self._server.settimeout(_LINK_SECONDS)
        self.port = int(self._server.getsockname()[1])

    def go_around(self, nodes: List[Report], number: int) -> Report:
        """`nodes`: of each its `node`, `number`, `address` and `port`, in the ring's order. What this one has seen."""
        after = nodes[(number + 1) % len(nodes)]
        try:
            ahead = socket.create_connection((after["address"], after["port"]), _LINK_SECONDS)
        except OSError as problem:
            place = "%s:%d" % (after["address"], after["port"])
            return {"number": number, "lost": after["node"], "why": "%s (%s)" % (place, problem)}
        try:
            behind = self._server.accept()[0]
        except OSError:  # the one before this says why
            ahead.close()
            return {"number": number}
        ahead.settimeout(_LINK_SECONDS)
        with ahead, behind:
            return self._measured(line_on(ahead, _LINK_SECONDS), line_on(behind, _LINK_SECONDS), len(nodes), number)

    def _measured(self, ahead: Line, behind: Line, count: int, number: int) -> Report:
        try:
            total = passing = number
            for _ in range(count - 1):
                ahead.send(passing)
                passing = int(behind.receive())
                total += passing
            return {"number": number, "sum": total, "rate": self._rate(ahead, behind)}
        except (OSError, ValueError, TypeError) as problem:
            return {"number": number, "broke": str(problem)}

    def _rate(self, ahead: Line, behind: Line) -> int:
        """Bytes in a second that came from the node before."""
        sender = threading.Thread(target=_send_blocks, args=(ahead.link,), daemon=True)
        begin, left = time.monotonic(), _BLOCK * _BLOCKS
        sender.start()
        while left:
            block = behind.file.read(min(left, _BLOCK))
            if not block:
                raise OSError("the link from the node before this one broke")
            left -= len(block)
        spent = max(1e-6, time.monotonic() - begin)
        sender.join(_LINK_SECONDS)
        return round(_BLOCK * _BLOCKS / spent)

    def close(self) -> None:
        self._server.close()


def _send_blocks(link: socket.socket) -> None:
    block = bytes(_BLOCK)
    with contextlib.suppress(OSError):
        for _ in range(_BLOCKS):
            link.sendall(block)


def judged(nodes: List[Report], seen: List[Report]) -> "Tuple[Dict[str, str], Dict[str, int]]":
    """Which nodes are bad, each with the reason, and the rate of each link, by the node that receives."""
    names = {int(node["number"]): str(node["node"]) for node in nodes}
    right = sum(names)
    bad = {
        one["lost"]: "%s does not reach it at %s" % (names[one["number"]], one["why"]) for one in seen if "lost" in one
    }
    for one in seen:
        if "sum" in one and one["sum"] != right and not bad:
            bad[names[one["number"]]] = "numbers do not arrive there as they were sent"
    rates = {names[one["number"]]: int(one["rate"]) for one in seen if "rate" in one}
    return bad, rates
