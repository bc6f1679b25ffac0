"""Is anything happening? A run that hangs writes no line and uses neither GPU nor CPU, and nobody is told."""

import os
import time
from typing import Dict, Mapping, Optional

from voyageur.runtime.folder import LOG

USUAL_SECONDS = 1800.0
_IDLE = 5.0  # per cent: less than this of one core, or of the GPUs, is no work


class Quiet:
    """Looks at the log's size and at what was used since; says once when both have stood still for long."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.log = os.path.join(environment["VOY_RUN_DIR"], LOG)
        self.patience = float(environment.get("VOY_QUIET") or USUAL_SECONDS)
        self.told = False
        self._size = -1
        self._since = time.monotonic()
        self._cpu = 0.0
        self._gpu = 0.0

    def look(self, cpu_seconds: float, gpu_seconds: Optional[float]) -> Optional[Dict[str, float]]:
        """`gpu_seconds` of full use so far, None where no GPU is measured. Facts when it seems to hang, once."""
        now = time.monotonic()
        try:
            size = os.stat(self.log).st_size
        except OSError:
            return None
        silent = now - self._since
        cpu = 100.0 * (cpu_seconds - self._cpu) / max(silent, 1.0)
        gpu = 100.0 * ((gpu_seconds or 0.0) - self._gpu) / max(silent, 1.0)
        busy = gpu > _IDLE if gpu_seconds is not None else cpu > _IDLE
        if size != self._size or (busy and silent >= self.patience):
            self._size, self._since, self._cpu, self._gpu = size, now, cpu_seconds, gpu_seconds or 0.0
            self.told = False
            return None
        if self.told or silent < self.patience:
            return None
        self.told = True
        facts = {"seconds": round(silent), "cpu": round(cpu, 1)}
        return dict(facts, gpu=round(gpu, 1)) if gpu_seconds is not None else facts
