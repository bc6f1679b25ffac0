"""The owner's end of the pipe to the process that holds the bed."""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

_LONGEST_STOP = 60.0


class BedError(Exception):
    """The bed itself does not work; nothing is said about the code under test."""


class Keeper:
    def __init__(self) -> None:
        package = __package__ or ""
        top = Path(__file__).parents[package.count(".") + 1]
        self._process = subprocess.Popen(
            [sys.executable, "-m", f"{package}.keeper"], env={**os.environ, "PYTHONPATH": str(top)}, cwd="/",
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        self.pid = self._process.pid
        self._one_at_a_time = threading.Lock()

    def wish(self, **fields: object) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with self._one_at_a_time:
            self._process.stdin.write(json.dumps(fields).encode() + b"\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline() or b'{"error": "the keeper ended"}'
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise BedError(answer["error"])
        return answer

    def start(self, name: str) -> None:
        self.wish(start=name)

    def stop(self) -> None:
        """Returns when nothing of the bed is left."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(_LONGEST_STOP)
        self._process.stdout.close()
