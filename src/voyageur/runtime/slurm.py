"""Slurm's commands, as a job calls them: nothing of this job's own variables may reach what they make."""

import contextlib
import subprocess
from typing import Any, List, Mapping, Optional

from voyageur.runtime.ledger import Ledger

_PATIENCE = 170.0  # sbatch itself retries a busy controller for two minutes
_OF_ANOTHER_JOB = ("SLURM_", "SBATCH_", "SRUN_", "SCANCEL_", "SQUEUE_")


class Slurm:
    def __init__(self, environment: Mapping[str, str], ledger: Ledger) -> None:
        self.environment = environment
        self.ledger = ledger

    def run(self, argv: List[str], stdin: str = "", patience: float = _PATIENCE) -> Optional[str]:
        """What it answered; None, and a word in the log, when it did not do what it was asked."""
        options: "dict[str, Any]" = {"env": self._variables(), "cwd": self.ledger.folder, "check": False}
        with contextlib.suppress(subprocess.TimeoutExpired):
            try:
                answer = subprocess.run(
                    argv, input=stdin, capture_output=True, universal_newlines=True, timeout=patience, **options
                )
            except OSError as problem:
                self.ledger.say("%s: %s" % (argv[0], problem.strerror))
                return None
            if answer.returncode == 0:
                return str(answer.stdout)
            self.ledger.say("%s: %s" % (argv[0], answer.stderr.strip()))
        return None

    def _variables(self) -> "dict[str, str]":
        return {
            name: value
            for name, value in self.environment.items()
            if name in ("SLURM_CONF", "SLURM_CONF_SERVER") or not name.startswith(_OF_ANOTHER_JOB)
        }
