"""A 2 GB set on its way to a node against `tar xf`: first sample, whole copy; and what 1, 2 and 4 nodes read of it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from bench.data.files import forget, make_files
from bench.timing import report

VOY = str(Path(sys.executable).with_name("voy"))
FILES = 200_000  # of 2 to 18 kB: 2 GB
NODES = (1, 2, 4)

# Each node stays until all of them have it: one that ended would have nothing more to hand on.
READ = """
import json, os, pathlib, random, time
begun = time.time()
from voyageur.job import data
pack = data.open("images")
pack[len(pack) // 2]
first = time.time()
for number in random.Random(1).sample(range(len(pack)), 1000):
    pack[number]
print(json.dumps({"begun": begun, "first": first, "thousand": time.time()}), flush=True)
while not os.path.exists(pack.archives[0]):
    time.sleep(0.02)
meet = pathlib.Path(os.environ["VOY_CHECKPOINTS"], os.environ["VOY_RUN"])
meet.mkdir(exist_ok=True)
(meet / os.environ["SLURM_NODEID"]).touch()
while len(os.listdir(meet)) < int(os.environ["SLURM_NNODES"]):
    time.sleep(0.05)
"""


def stage(root: Path) -> None:
    """Both sides read the same pack and write to the same disk, from a cold cache where that may be emptied."""
    pack = _make_pack(root)
    cold = "cold" if forget() else "warm"
    theirs, first_file = _unpack(pack, root)
    forget()
    first, thousand, whole = _read_through(root)
    size = pack.stat().st_size / 2**30
    what = f"{size:.1f} GiB, {FILES:,} files, {cold}"
    report(f"first sample, {what}", first, first_file, "tar's first file", "under 1 s", first < 1)
    met = 5 * thousand <= theirs
    report(f"1,000 samples of all of it, {what}", thousand, theirs, "tar xf, whole", "5x sooner", met)
    report(f"all of it on the node, {what}", whole, theirs, "tar xf, whole", "not later", whole <= theirs)
    for nodes in NODES:
        shared, seconds = _bytes_read(root, nodes)
        copies = shared / (pack.stat().st_size + Path(f"{pack}.idx").stat().st_size)
        print(
            f"{nodes} nodes: {copies:5.2f} copies read from shared storage, whole on all after {seconds:5.1f} s",
            flush=True,
        )


def _make_pack(root: Path) -> Path:
    files = root / "files"
    make_files(files, FILES, 200)
    pack = root / "scratch" / "project" / "images.tar"
    pack.parent.mkdir(parents=True)
    subprocess.run([VOY, "data", "pack", str(files), str(pack)], check=True, stdout=subprocess.DEVNULL)
    shutil.rmtree(files)
    return pack


def _unpack(pack: Path, root: Path) -> tuple[float, float]:
    """GNU tar's time, and when its first file was there."""
    target = root / "unpacked"
    target.mkdir()
    begun = time.perf_counter()
    process = subprocess.Popen(["tar", "xf", str(pack), "-C", str(target)])
    while not any(target.iterdir()) and process.poll() is None:
        time.sleep(0.001)
    first = time.perf_counter() - begun
    assert process.wait() == 0
    spent = time.perf_counter() - begun
    shutil.rmtree(target)
    return spent, first


def _read_through(root: Path) -> tuple[float, float, float]:
    """From the start of the program: its first sample, a thousand from anywhere, and when all was on the node."""
    _, run = _run(root, 1)
    said = json.loads(next(line for line in (run / "output.log").read_text().splitlines() if line.startswith("{")))
    staged = [event for event in _events(run) if event["event"] == "staged"]
    begun = said["begun"]
    return said["first"] - begun, said["thousand"] - begun, staged[0]["time"] - begun


def _bytes_read(root: Path, nodes: int) -> tuple[int, float]:
    forget()
    begun, run = _run(root, nodes)
    staged = [event for event in _events(run) if event["event"] == "staged"]
    return sum(event["shared_bytes"] for event in staged), max(event["time"] for event in staged) - begun


def _run(root: Path, nodes: int) -> tuple[float, Path]:
    project = root / "project"
    project.mkdir(exist_ok=True)
    (project / "read.py").write_text(READ)
    (project / "voyageur.toml").write_text(f'[data]\nimages = "images.tar"\n[env.variables]\nTMPDIR = "{root}"\n')
    environment = {"PATH": os.environ["PATH"], "HOME": str(root), "SCRATCH": str(root / "scratch")}
    argv = [VOY, "run", "-n", str(nodes), "-W", "per-node" if nodes > 1 else "plain", "--", sys.executable, "read.py"]
    subprocess.run(argv, cwd=project, env=environment, check=True, capture_output=True)
    run = max((root / "scratch" / "project" / "hpc_outputs").glob("read-*"), key=lambda path: path.stat().st_mtime)
    begun = next(event["time"] for event in _events(run) if event["event"] == "attempt started")
    return begun, run


def _events(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
