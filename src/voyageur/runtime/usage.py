"""What a run used, as far as samples can tell: CPU, memory, and GPUs where NVIDIA's tool is."""

import os
import shutil
import subprocess
import time
from typing import Any, Dict, Iterable, List, NamedTuple, Optional

from voyageur.runtime import processes

Facts = Dict[str, Any]


class Gpu(NamedTuple):
    utilization: float
    memory_used: int


class GpuReader:
    """NVIDIA's tool, asked now and read the next time: on a sick node it may take for ever to answer."""

    def __init__(self) -> None:
        self._asked: Optional[subprocess.Popen[bytes]] = None

    @property
    def pid(self) -> int:
        return self._asked.pid if self._asked else 0

    def read(self) -> List[Gpu]:
        """What the last question brought, if it has been answered; then the next question."""
        if self._asked is not None and self._asked.poll() is None:
            return []
        found = self._answer(self._asked) if self._asked else []
        self._asked = self._ask()
        return found

    def _ask(self) -> "Optional[subprocess.Popen[bytes]]":
        tool = shutil.which("nvidia-smi")
        if not tool:
            return None
        query = [tool, "--query-gpu=utilization.gpu,memory.used", "--format=csv,noheader,nounits"]
        visible = os.environ.get("CUDA_VISIBLE_DEVICES", "")
        if visible:
            query.append("--id=" + visible)
        try:
            return subprocess.Popen(query, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        except OSError:
            return None

    def _answer(self, asked: "subprocess.Popen[bytes]") -> List[Gpu]:
        assert asked.stdout is not None
        with asked.stdout as answer:
            rows = [line.split(",") for line in answer.read().decode("utf-8", "replace").splitlines() if line.strip()]
        try:
            return [Gpu(float(row[0]), int(float(row[1]) * 2**20)) for row in rows]
        except (ValueError, IndexError):
            return []


class Usage:
    """Samples of one process and its family. Each counts for the time since the one before it."""

    def __init__(self) -> None:
        self.gpus = GpuReader()
        self.samples = 0
        self.peak_memory = 0
        self.gpu_seconds = 0.0
        self.gpu_busy_seconds = 0.0
        self.gpu_peak_memory = 0
        self._last = time.monotonic()

    def sample(self, root: int) -> None:
        now = time.monotonic()
        since, self._last = now - self._last, now
        self.samples += 1
        self.peak_memory = max(self.peak_memory, sum(stat.memory for stat in processes.family(root).values()))
        for gpu in self.gpus.read():
            self.gpu_seconds += since
            self.gpu_busy_seconds += since * gpu.utilization
            self.gpu_peak_memory = max(self.gpu_peak_memory, gpu.memory_used)

    def gpu_work(self) -> Optional[float]:
        """Seconds of full use, all GPUs together; None where none is measured."""
        return self.gpu_busy_seconds / 100.0 if self.gpu_seconds else None

    def facts(self) -> Facts:
        """CPU seconds are those of processes that have ended; tasks behind srun are Slurm's children, not ours."""
        times = os.times()
        found: Facts = {
            "cpu_seconds": round(times.children_user + times.children_system, 2),
            "peak_memory": self.peak_memory,
            "samples": self.samples,
        }
        if self.gpu_seconds:
            found["gpu_utilization"] = round(self.gpu_busy_seconds / self.gpu_seconds, 1)
            found["gpu_peak_memory"] = self.gpu_peak_memory
        return found


def on_one_node(tasks: Iterable[Facts]) -> Facts:
    """Tasks beside each other: their memory adds up, and that sum is the most it can have been."""
    found = list(tasks)
    return dict(_together(found), peak_memory=sum(facts.get("peak_memory", 0) for facts in found))


def of_all_nodes(nodes: Iterable[Facts]) -> Facts:
    """The fullest node's memory: that is what was asked for."""
    found = list(nodes)
    return dict(_together(found), peak_memory=max((facts.get("peak_memory", 0) for facts in found), default=0))


def _together(parts: List[Facts]) -> Facts:
    found: Facts = {
        "cpu_seconds": round(sum(facts.get("cpu_seconds", 0.0) for facts in parts), 2),
        "samples": sum(facts.get("samples", 0) for facts in parts),
    }
    busy = [facts["gpu_utilization"] for facts in parts if "gpu_utilization" in facts]
    if busy:
        found["gpu_utilization"] = round(sum(busy) / len(busy), 1)
        found["gpu_peak_memory"] = max(facts.get("gpu_peak_memory", 0) for facts in parts)
    return found
