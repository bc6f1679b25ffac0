"""`bash bench/gpu/run`: small trainings that share one GPU, with MPS and without; PyTorch's ranks on a real GPU.

Both sides in one run: what people type, and the same under `voy run`. Where there is no GPU it says so and runs on the
CPU, which shows that the programs work and no more.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
VOY = [sys.executable, "-c", "from voyageur.cli import main; main()"]
SECONDS = float(os.environ.get("BENCH_SECONDS", "3"))
TWINS = (1, 2, 4)
MPS = "nvidia-cuda-mps-control"
STEPS = 300
_RATE = re.compile(r"(dense|convolutions) rate ([\d.]+) mps (True|False) on (GPU|CPU)")
_RANKS = re.compile(r"ranks (\d+) sum (\d+) rate ([\d.]+) begun ([\d.]+)")


class Bench:
    """A home whose login shell finds the GPU's tools, as a user's does; a project; and a scratch."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.project = root / "project"
        self.project.mkdir()
        for name in ("small.py", "ranks.py"):
            shutil.copy(HERE / name, self.project)
        kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ}
        (root / ".bash_profile").write_text("".join(f"export {name}='{value}'\n" for name, value in kept.items()))
        self.environment = {**os.environ, "HOME": str(root), "SCRATCH": str(root / "scratch"), "VOY_SITE": "local"}
        self.environment.pop("VIRTUAL_ENV", None)
        self.gpus = 1 if self.has_gpu() else 0

    def has_gpu(self) -> bool:
        text = "import torch; print(torch.__version__, torch.cuda.is_available() and torch.cuda.get_device_name())"
        said = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True).stdout.strip()
        print(f"Python {sys.version.split()[0]}, PyTorch {said}, {os.cpu_count()} cores, ", end="")
        print(f"MPS {'there' if shutil.which(MPS) else 'not there'}", flush=True)
        return not said.endswith("False")

    def twins_folder(self) -> str:
        return tempfile.mkdtemp(dir=self.root)

    def voy(self, *words: str, ok: bool = True) -> str:
        argv = [*VOY, "run", "--time", "3m", *words]
        answer = subprocess.run(
            argv, cwd=self.project, env=self.environment, capture_output=True, text=True, check=False, timeout=170
        )
        if ok and answer.returncode:
            print(f"{' '.join(words)}\n{answer.stdout}\n{answer.stderr}", flush=True)
        return answer.stdout + answer.stderr

    def events(self) -> list[dict[str, object]]:
        """Of the newest run."""
        path = max((self.root / "scratch").glob("*/hpc_outputs/*/events.jsonl"), key=lambda one: one.stat().st_mtime)
        return [json.loads(line) for line in path.read_text().splitlines()]


# ── small trainings ──────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass
class Told:
    """What all twins together told: steps in a second, how many they were, how they worked."""

    rate: float = 0.0
    twins: int = 0
    how: set[str] = field(default_factory=set)


def rates(text: str) -> dict[str, Told]:
    found: dict[str, Told] = {}
    for which, rate, mps, where in _RATE.findall(text):
        told = found.setdefault(which, Told())
        told.rate += float(rate)
        told.twins += 1
        told.how |= {"with MPS"} if mps == "True" else set()
        told.how |= {"ON THE CPU"} if where == "CPU" else set()
    return dict(sorted(found.items()))


def by_hand(bench: Bench, twins: int, **environment: str) -> str:
    argv = [sys.executable, "small.py", str(SECONDS), str(twins), bench.twins_folder()]
    variables = {**bench.environment, **environment}
    started = [
        subprocess.Popen(argv, cwd=bench.project, env=variables, stdout=subprocess.PIPE, text=True)
        for _ in range(twins)
    ]
    return "".join(one.communicate()[0] for one in started)


def by_hand_with_mps(bench: Bench, twins: int, **environment: str) -> str:
    """As NVIDIA's documentation starts it: a daemon, its place told to the programs, quit at the end."""
    if not shutil.which(MPS):
        return ""
    place = bench.twins_folder()
    told = {"CUDA_MPS_PIPE_DIRECTORY": place, "CUDA_MPS_LOG_DIRECTORY": place}
    variables = {**bench.environment, **told}
    subprocess.run([MPS, "-d"], env=variables, check=True)
    try:
        return by_hand(bench, twins, **told, **environment)
    finally:
        subprocess.run([MPS], input="quit\n", env=variables, text=True, check=False)


def by_voy(bench: Bench, twins: int, mps: str, **environment: str) -> str:
    variables = "".join(f'{name} = "{value}"\n' for name, value in environment.items())
    launch = f'[launch]\nwith = "replicas"\nmps = {mps}\n[env.variables]\n{variables}'
    (bench.project / "voyageur.toml").write_text(launch)
    command = [sys.executable, "small.py", str(SECONDS), str(twins), bench.twins_folder()]
    return bench.voy("--gpus", str(bench.gpus), "--tasks", str(twins), "--", *command, ok=not environment)


def small_trainings(bench: Bench) -> None:
    print(f"\nsteps a second of all together, {SECONDS:.0f} s each; the ratio is to one training alone", flush=True)
    alone: dict[str, float] = {}
    for twins in TWINS:
        sides = (
            ("by hand, &", by_hand(bench, twins)),
            ("by hand, &", by_hand_with_mps(bench, twins)),
            ("voy replicas", by_voy(bench, twins, "false")),
            ("voy replicas", by_voy(bench, twins, '"auto"' if twins > 1 else "true")),
        )
        for name, text in sides:
            for which, told in rates(text).items():
                first = alone.setdefault(which, told.rate)
                all_told = "" if told.twins == twins else f"   only {told.twins} of {twins} told"
                how = " ".join((name, *sorted(told.how)))
                print(f"{which:14}{twins} {how:36}{told.rate:10.1f}   {told.rate / first:5.2f}x{all_told}", flush=True)


def a_copy_that_dies(bench: Bench) -> None:
    text = by_voy(bench, 2, '"auto"', FAILS="1")
    went_on = [told.twins for told in sorted(rates(text).values(), key=lambda told: -told.twins)]
    print(f"\none of two copies ends with 3 in the second half: lines told {went_on} (2, then 1 are expected)")
    shared = [event for event in bench.events() if event["event"] in ("gpus shared", "gpus not shared")]
    print("events:", shared)


def nothing_is_left(bench: Bench) -> None:
    left = [path.parent.name for path in Path("/proc").glob("[0-9]*/comm") if "nvidia-cuda-mps" in (_text(path) or "")]
    records = (bench.root / "scratch").glob("*/hpc_outputs/*/run.json")
    tokens = [json.loads(path.read_text())["token"] for path in records]
    folders = [path.name for path in Path("/tmp").glob("voy-*") if any(token in path.name for token in tokens)]
    print(f"left behind: MPS processes {left}, folders on this disk {folders}", flush=True)


def _text(path: Path) -> str | None:
    try:
        return path.read_text()
    except OSError:
        return None


# ── ranks ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _ranks_by_hand(bench: Bench, ranks: int, backend: str) -> tuple[float, str]:
    launcher = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}"]
    begin = time.time()
    argv = [sys.executable, *launcher, "ranks.py", backend, str(STEPS)]
    answer = subprocess.run(
        argv, cwd=bench.project, env=bench.environment, capture_output=True, text=True, check=False, timeout=120
    )
    return begin, answer.stdout + answer.stderr


def _ranks_by_voy(bench: Bench, style: str, ranks: int, backend: str) -> tuple[float, str]:
    (bench.project / "voyageur.toml").write_text("")
    many = ("--tasks", str(ranks)) if ranks > 1 else ()
    begin = time.time()
    command = [sys.executable, "ranks.py", backend, str(STEPS)]
    return begin, bench.voy("-W", style, "--gpus", str(bench.gpus), *many, "--", *command)


def ranks_on_a_gpu(bench: Bench) -> None:
    print(f"\nPyTorch's DistributedDataParallel, {STEPS} steps: seconds to the program's first line, steps a second")
    nccl = "nccl" if bench.gpus else "gloo"
    sides = {
        f"torchrun by hand, 1 rank, {nccl}": _ranks_by_hand(bench, 1, nccl),
        f"voy torchrun, 1 rank, {nccl}": _ranks_by_voy(bench, "torchrun", 1, nccl),
        f"voy per-rank, 1 rank, {nccl}": _ranks_by_voy(bench, "per-rank", 1, nccl),
        "torchrun by hand, 2 ranks, gloo": _ranks_by_hand(bench, 2, "gloo"),
        "voy per-rank, 2 ranks, gloo": _ranks_by_voy(bench, "per-rank", 2, "gloo"),
    }
    for name, (begin, text) in sides.items():
        found = _RANKS.search(text)
        if not found:
            print(f"{name:40} FAILED\n{text[-2000:]}", flush=True)
            continue
        ranks, total, rate, begun = found.groups()
        right = "" if int(total) == sum(range(int(ranks))) else "   WRONG SUM"
        print(f"{name:40}{float(begun) - begin:8.2f} s {float(rate):10.1f}{right}", flush=True)


def main() -> None:
    began = time.monotonic()
    root = Path(tempfile.mkdtemp(prefix="bench-gpu-"))
    try:
        bench = Bench(root)
        if not bench.gpus:
            print("no GPU here: the figures below say nothing about one", flush=True)
        small_trainings(bench)
        a_copy_that_dies(bench)
        ranks_on_a_gpu(bench)
        nothing_is_left(bench)
    finally:
        shutil.rmtree(root, ignore_errors=True)
    print(f"all of it: {time.monotonic() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
