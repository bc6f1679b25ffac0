"""This machine."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import PurePosixPath

from voyageur.hosts.model import Answer
from voyageur.slurm_text import clean_environment
from voyageur.units import Duration


class Here:
    def run(self, argv: Sequence[str], *, folder: PurePosixPath | None = None, patience: Duration) -> Answer:
        process = subprocess.Popen(
            argv,
            cwd=folder,
            env=clean_environment(os.environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            umask=0o077,
        )
        try:
            output, errors = process.communicate(timeout=patience.seconds)
            return Answer(code=process.returncode, output=output, errors=errors)
        except subprocess.TimeoutExpired:
            process.kill()
            output, errors = process.communicate()
            return Answer(code=None, output=output, errors=errors)
        except BaseException:
            process.kill()
            process.wait()
            raise

    def has(self, command: str) -> bool:
        return shutil.which(command) is not None
