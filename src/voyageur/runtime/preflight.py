"""Before minutes are spent: does every node have what the run needs, and do they reach each other?

One task on each node looks around and sends what it found to the first, with a number; the first adds the numbers up
and sends the sum back. That is a small all-reduce over the address and the port where the ranks are going to meet.
"""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import time
from typing import Any, Dict, List, Mapping, Tuple

from voyageur.runtime import blanks
from voyageur.runtime.folder import append_event
from voyageur.runtime.node_folder import base_folder

PATIENCE = 30.0
_LEAST_DISK = 256 * 2**20
_GPU_SECONDS = 20.0

Report = Dict[str, Any]


def run() -> int:
    environment = dict(os.environ)
    known = {**environment, **blanks.of_task(environment)}
    report = {"node": known["NODE_NAME"], "number": int(known["NODE_RANK"]), "problems": problems(environment)}
    place = (known["MASTER_ADDR"], int(known["MASTER_PORT"]))
    names = known["VOY_NODE_NAMES"].split(",")
    if known["IS_FIRST"] == "1":
        found = gather(place[1], report, names, PATIENCE)
        append_event(
            environment["VOY_RUN_DIR"], "nodes looked at", attempt=_attempt(environment), bad=bad(found, names)
        )
    else:
        send(place, report, PATIENCE)
    return 0


def _attempt(environment: Mapping[str, str]) -> int:
    return int(environment.get("VOY_ATTEMPT", "0"))


# ── one node ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def problems(environment: Mapping[str, str]) -> List[str]:
    found = [_disk(base_folder(environment)), gpus_gone(environment)]
    return [problem for problem in found if problem]


def gpus_gone(environment: Mapping[str, str]) -> str:
    """Also asked after a failure: a program whose GPU fell off its bus is not to blame."""
    return _gpus(int(environment.get("VOY_GPUS") or environment.get("SLURM_GPUS_ON_NODE") or 0))


def _disk(folder: str) -> str:
    try:
        free = shutil.disk_usage(folder).free
        with open(os.path.join(folder, ".voy-%d-try-%d" % (os.getuid(), os.getpid())), "wb") as file:
            os.unlink(file.name)
            file.write(b"." * 4096)
    except OSError as problem:
        return "%s cannot be written: %s" % (folder, problem.strerror)
    return "" if free >= _LEAST_DISK else "%s has only %d MiB left" % (folder, free // 2**20)


def _gpus(wanted: int) -> str:
    """What NVIDIA's tool lists; on a sick node it may take for ever to answer."""
    tool = shutil.which("nvidia-smi")
    if not wanted or not tool:
        return ""
    try:
        answer = subprocess.run(
            [tool, "-L"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=_GPU_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return "nvidia-smi does not answer"
    lines = answer.stdout.decode("utf-8", "replace").splitlines()
    slices = sum(line.startswith("  MIG ") for line in lines)
    seen = slices or sum(line.startswith("GPU ") for line in lines)
    if answer.returncode or seen < wanted:
        return "%d of %d GPUs are there%s" % (seen, wanted, ": %s" % lines[-1] if answer.returncode and lines else "")
    return ""


# ── all of them ──────────────────────────────────────────────────────────────────────────────────────────────────────


def gather(port: int, own: Report, names: List[str], patience: float) -> List[Report]:
    """The reports of all that come in time; each of these gets the sum."""
    found, lines = [own], []
    deadline = time.monotonic() + patience
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(("", port))
        server.listen(len(names))
        while len(found) < len(names) and time.monotonic() < deadline:
            server.settimeout(max(0.1, deadline - time.monotonic()))
            with contextlib.suppress(OSError, ValueError):
                line = server.accept()[0]
                line.settimeout(5.0)
                found.append(json.loads(line.makefile("rb").readline().decode()))
                lines.append(line)
    total = sum(int(report["number"]) for report in found)
    for line in lines:
        with contextlib.suppress(OSError):
            line.sendall(b"%d\n" % total)
        line.close()
    return found


def send(place: Tuple[str, int], report: Report, patience: float) -> bool:
    """Again and again, until the first node listens. False: it did not answer, and will say so itself."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection(place, 5.0) as line:
            line.settimeout(patience + 5.0)
            line.sendall(json.dumps(report).encode() + b"\n")
            return line.makefile("rb").readline().strip().isdigit()
        time.sleep(0.2)
    return False


def bad(found: List[Report], names: List[str]) -> Dict[str, str]:
    """Each bad node with what is wrong there."""
    reported = {str(report["node"]): "; ".join(report["problems"]) for report in found}
    absent = {name: "it does not reach the first node" for name in names if name not in reported}
    return {**{name: problem for name, problem in reported.items() if problem}, **absent}
