"""Before minutes are spent: does every node have what the run needs, and do they reach each other?

One task on each node looks around and reports to the first, over the address and the port where the ranks are going to
meet; then a number and a few megabytes go around all nodes.
"""

import contextlib
import os
import shutil
import subprocess
import sys
from typing import Dict, List, Mapping, Tuple

from voyageur.runtime import blanks, meeting
from voyageur.runtime.folder import append_event
from voyageur.runtime.node_folder import base_folder
from voyageur.runtime.ring import Report, Ring, gather, judged, report_to

PATIENCE = 30.0
_LEAST_DISK = 256 * 2**20
_GPU_SECONDS = 20.0


def run() -> int:
    environment = dict(os.environ)
    known = {**environment, **blanks.of_task(environment)}
    names = known["VOY_NODE_NAMES"].split(",")
    ring = Ring()
    report = {
        "node": known["NODE_NAME"],
        "number": int(known["NODE_RANK"]),
        "address": meeting.own_address(known, int(known["NODE_RANK"])),
        "port": ring.port,
        "problems": problems(environment),
        "unknown": [] if known.get("VOY_LOCAL_NAMES") else unknown_names(names),
    }
    place = (known["MASTER_ADDR"], int(known["MASTER_PORT"]))
    if known["IS_FIRST"] != "1":
        follow(place, report, ring, PATIENCE)
        return 0
    found, bad, rates = lead(place[1], report, ring, names, PATIENCE)
    unknown = {str(one["node"]): one["unknown"] for one in found if one.get("unknown")}
    facts = {"bad": bad, "rates": rates, **({"unknown": unknown} if unknown else {})}
    append_event(environment["VOY_RUN_DIR"], "nodes looked at", attempt=_attempt(environment), **facts)
    print("voyageur: " + in_words(names, bad, rates, unknown), file=sys.stderr, flush=True)
    return 0


def _attempt(environment: Mapping[str, str]) -> int:
    return int(environment.get("VOY_ATTEMPT", "0"))


# ── one node ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def problems(environment: Mapping[str, str]) -> List[str]:
    found = [_disk(base_folder(environment)), gpus_gone(environment), _sick_gpus(environment)]
    return [problem for problem in found if problem]


def unknown_names(names: List[str]) -> List[str]:
    """No reason to stop: ranks are told addresses. But a program that uses names itself would wait for ever."""
    return [name for name in names if not meeting.resolved(name)]


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


def _sick_gpus(environment: Mapping[str, str]) -> str:
    """GPUs with broken memory rows that could not be replaced, or will be at the next reset. Not every GPU and driver
    tells; what is not told is no problem."""
    tool = shutil.which("nvidia-smi")
    if not tool or not int(environment.get("VOY_GPUS") or 0):
        return ""
    query = "--query-gpu=index,ecc.errors.uncorrected.volatile.total,remapped_rows.pending,remapped_rows.failure"
    try:
        answer = subprocess.run(
            [tool, query, "--format=csv,noheader,nounits"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_GPU_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    if answer.returncode:
        return ""
    lines = answer.stdout.decode("utf-8", "replace").splitlines()
    rows = [[part.strip() for part in line.split(",")] for line in lines]
    sick = [row for row in rows if len(row) == 4 and {"yes", "1"} & {row[2].lower(), row[3].lower()}]
    return "; ".join("GPU %s has broken memory, %s errors that could not be corrected" % tuple(row[:2]) for row in sick)


# ── all of them ──────────────────────────────────────────────────────────────────────────────────────────────────────


def lead(
    port: int, own: Report, ring: Ring, names: List[str], patience: float
) -> "Tuple[List[Report], Dict[str, str], Dict[str, int]]":
    """On the first node: all reports, the bad nodes with what is wrong, and how fast each receives, in bytes."""
    came = gather(port, len(names), patience)
    found = sorted([own, *(report for report, _ in came)], key=lambda report: int(report["number"]))
    nodes = found if len(found) == len(names) > 1 else []
    for _, line in came:
        with contextlib.suppress(OSError):
            line.send(nodes)
    seen = [ring.go_around(nodes, int(own["number"]))] if nodes else []
    for _, line in came if nodes else []:
        with contextlib.suppress(OSError, ValueError):
            seen.append(line.receive() or {"number": -1})
    bad, rates = judged(nodes, seen)
    return found, {**bad, **missing(found, names)}, rates


def follow(place: Tuple[str, int], own: Report, ring: Ring, patience: float) -> None:
    line = report_to(place, own, patience)
    if line is None:
        return
    with contextlib.suppress(OSError, ValueError), line.link:
        nodes = line.receive()
        if nodes:
            line.send(ring.go_around(nodes, int(own["number"])))


def missing(found: List[Report], names: List[str]) -> Dict[str, str]:
    """Each node with what is wrong on it, and those that did not come."""
    reported = {str(report["node"]): "; ".join(report["problems"]) for report in found}
    absent = {name: "it does not reach the first node" for name in names if name not in reported}
    return {**{name: problem for name, problem in reported.items() if problem}, **absent}


def in_words(names: List[str], bad: Mapping[str, str], rates: Mapping[str, int], unknown: Mapping[str, object]) -> str:
    text = "%d node%s looked at" % (len(names), "" if len(names) == 1 else "s")
    if rates:
        slowest = min(rates, key=lambda name: rates[name])
        text += "; the slowest link is that to %s, %d MB/s" % (slowest, rates[slowest] // 10**6)
    if unknown:
        text += "; names that do not resolve on %s: %s" % next(
            (node, ", ".join(map(str, those))) for node, those in sorted(unknown.items()) if isinstance(those, list)
        )
    return text + "".join("; bad: %s, %s" % one for one in sorted(bad.items()))
