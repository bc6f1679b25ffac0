"""This machine."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from voyageur.hosts.model import Answer
from voyageur.slurm_text import clean_environment
from voyageur.units import Duration


class Here:
    def run(
        self, argv: Sequence[str], *, folder: PurePosixPath | None = None, patience: Duration, read: str = ""
    ) -> Answer:
        process = subprocess.Popen(
            argv,
            cwd=folder,
            env=clean_environment(os.environ),
            stdin=subprocess.PIPE if read else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="surrogateescape",
            umask=0o077,
        )
        try:
            output, errors = process.communicate(read or None, timeout=patience.seconds)
            return Answer(code=process.returncode, output=_text(output), errors=_text(errors))
        except subprocess.TimeoutExpired:
            process.kill()
            output, errors = process.communicate()
            return Answer(code=None, output=_text(output), errors=_text(errors))
        except BaseException:
            process.kill()
            process.wait()
            raise

    def environment(self) -> Mapping[str, str]:
        return os.environ

    def has(self, command: str) -> bool:
        return shutil.which(command) is not None


def _text(answer: str) -> str:
    return answer.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
