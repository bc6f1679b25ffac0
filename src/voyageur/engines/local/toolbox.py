"""`srun` and `scontrol` as files on the job's PATH."""

from __future__ import annotations

import hashlib
import shlex
import sys
from pathlib import Path

from voyageur.runtime.folder import write_atomically

NAMES = ("srun", "scontrol")
# Isolated, and without site-packages: what a job puts into PYTHONPATH is for its program.
_PROGRAM = "import sys; sys.path.append(sys.argv.pop(1)); from tools.{name} import main; sys.exit(main(sys.argv[1:]))"


def tool(name: str) -> str:
    words = [sys.executable, "-ISc", _PROGRAM.format(name=name), str(Path(__file__).parent)]
    return f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n'


def put_tools(spool: Path) -> Path:
    """One folder for each Python and place of Voyageur, named for what is in it: all keepers may make it at once."""
    texts = {name: tool(name) for name in NAMES}
    folder = spool / f"tools-{hashlib.sha256(''.join(texts.values()).encode()).hexdigest()[:12]}"
    folder.mkdir(mode=0o700, exist_ok=True)
    for name, text in texts.items():
        if not _holds(folder / name, text):
            write_atomically(str(folder / name), text.encode(), 0o700)
    return folder


def _holds(path: Path, text: str) -> bool:
    try:
        return path.read_bytes() == text.encode()
    except OSError:
        return False
