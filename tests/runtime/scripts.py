"""Small programs, run for real: each test gets its own process, so that no signal handler reaches pytest."""

import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src"


def start(text: str, *arguments: str, **options: object) -> "subprocess.Popen[str]":
    """A Python process that runs `text` and answers on its standard output."""
    return subprocess.Popen(  # type: ignore[call-overload,no-any-return] # options are Popen's own
        [sys.executable, "-c", text, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": str(SOURCE), "PATH": "/usr/bin:/bin"},
        **options,
    )


def answer(text: str, *arguments: str, timeout: float = 20, **options: object) -> str:
    process = start(text, *arguments, **options)
    output, errors = process.communicate(timeout=timeout)
    assert process.returncode == 0, errors
    return output
