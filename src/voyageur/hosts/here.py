"""This machine."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import IO

from voyageur.hosts.model import Answer
from voyageur.slurm_text import clean_environment
from voyageur.units import Duration

_LAST_WORDS = 2.0  # seconds; what is dead by then has closed its pipes, unless it left somebody outside its session


class Here:
    def run(
        self, argv: Sequence[str], *, folder: PurePosixPath | None = None, patience: Duration, read: str = ""
    ) -> Answer:
        process = subprocess.Popen(
            argv,
            cwd=folder,
            env=clean_environment(os.environ),
            stdin=_to_read(read) if read else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="surrogateescape",
            umask=0o077,
            start_new_session=True,
        )
        try:
            output, errors = process.communicate(timeout=patience.seconds)
            return Answer(code=process.returncode, output=_text(output), errors=_text(errors))
        except subprocess.TimeoutExpired:
            _kill(process)
            output, errors = _last_words(process)
            return Answer(code=None, output=_text(output), errors=_text(errors))
        except BaseException:
            _kill(process)
            process.wait()
            raise

    def environment(self) -> Mapping[str, str]:
        return os.environ

    def has(self, command: str) -> bool:
        return shutil.which(command) is not None


def _to_read(text: str) -> IO[bytes]:
    """A file in memory: a pipe would end us with a SIGPIPE when the command ends without reading it."""
    file = os.fdopen(os.memfd_create("read"), "w+b")
    file.write(text.encode("utf-8", "surrogateescape"))
    file.seek(0)
    return file


def _kill(process: subprocess.Popen[str]) -> None:
    """With all it started: many a site's command is a script, and its child would hold our end of the pipe open."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _last_words(process: subprocess.Popen[str]) -> tuple[str, str]:
    try:
        return process.communicate(timeout=_LAST_WORDS)
    except subprocess.TimeoutExpired:
        for pipe in (process.stdout, process.stderr):
            if pipe:
                pipe.close()
        return "", ""


def _text(answer: str) -> str:
    return answer.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
