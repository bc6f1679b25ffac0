"""Beside the supervisor of a run on several nodes: tells each node where the one above it listens."""

import os
import select
import signal
import subprocess
import sys
import threading
from typing import Dict, Optional

from voyageur.runtime import processes
from voyageur.runtime.folder import RUNTIME
from voyageur.runtime.staging.network import Switchboard
from voyageur.runtime.staging.wanted import AT, read_wanted

_PATIENCE = 10.0


def connect_nodes(environment: Dict[str, str]) -> "Optional[subprocess.Popen[bytes]]":
    """Starts it where there is something to hand on, and tells the tasks in their environment. Without it every node
    reads shared storage itself."""
    nodes = int(environment.get("SLURM_JOB_NUM_NODES") or 1)
    if nodes < 2 or all(one.stage == "none" for one in read_wanted(environment)):
        return None
    secret = os.urandom(32).hex()
    process = subprocess.Popen(
        [sys.executable, "-I", os.path.join(environment["VOY_RUN_DIR"], RUNTIME), "switchboard", "--", "nodes"],
        env=dict(environment, **{AT: ":" + secret}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        preexec_fn=processes.at_parents_death(signal.SIGKILL),
    )
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], _PATIENCE)
    port = process.stdout.readline().decode("ascii").strip() if ready else ""
    if port.isdigit():
        environment[AT] = "%s:%s" % (port, secret)
    return process


def run() -> int:
    secret = bytes.fromhex(os.environ[AT].partition(":")[2])
    print(Switchboard(secret).server.port, flush=True)
    threading.Event().wait()
    return 0
