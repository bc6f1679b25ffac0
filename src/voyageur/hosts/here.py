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

_LAST_WORDS = 1.0  # seconds


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
            return _what_there_is(process)
        except BaseException:
            process.kill()
            process.wait()
            raise

    def environment(self) -> Mapping[str, str]:
        return os.environ

    def has(self, command: str) -> bool:
        return shutil.which(command) is not None


def _what_there_is(process: subprocess.Popen[str]) -> Answer:
    """A child of the command's own, or a hung file system, may hold its pipes open long after it was killed."""
    try:
        output, errors = process.communicate(timeout=_LAST_WORDS)
        return Answer(code=None, output=_text(output), errors=_text(errors))
    except subprocess.TimeoutExpired as late:
        for pipe in (process.stdout, process.stderr):
            if pipe:
                pipe.close()
        return Answer(code=None, output=_read(late.stdout), errors=_read(late.stderr))


def _read(answer: bytes | str | None) -> str:
    """What was read so far comes as bytes, also where text was asked for."""
    return answer.decode("utf-8", "replace") if isinstance(answer, bytes) else answer or ""


def _text(answer: str) -> str:
    return answer.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
