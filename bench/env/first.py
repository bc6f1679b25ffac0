"""The user's program: when its first line ran, and when all it needs was imported, counted from the job's start."""

import time

now = time.time()

import importlib  # noqa: E402
import json  # noqa: E402
import os  # noqa: E402
import sys  # noqa: E402


def job_began() -> float:
    """The job's script is the topmost process that has the job's variables; exec keeps its number and its start."""
    found = os.getpid()
    while True:
        with open(f"/proc/{found}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        try:
            with open(f"/proc/{fields[1]}/environ", "rb") as file:
                if b"SLURM_JOB_ID=" not in file.read():
                    break
        except OSError:
            break
        found = int(fields[1])
    with open("/proc/uptime") as file:
        booted = time.time() - float(file.read().split()[0])
    return booted + int(fields[19]) / os.sysconf("SC_CLK_TCK")


for name in sys.argv[1:]:
    importlib.import_module(name)
began = job_began()
told = {"first": now - began, "imported": time.time() - began, "node": os.environ.get("SLURMD_NODENAME")}
print("TOLD " + json.dumps(told), flush=True)
