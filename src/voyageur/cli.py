"""argv -> commands; the one place that turns errors into exit codes."""

from __future__ import annotations

import gc
import os
import signal
import sys

from voyageur import __version__
from voyageur.errors import VoyageurError


def main() -> None:
    # Importing makes many objects that live to the end; looking through them for garbage is a tenth of the start.
    gc.set_threshold(100_000)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `voy logs RUN | head` ends as quietly as any other command
    sys.exit(_run())


def _run() -> int:
    try:
        return _dispatch(sys.argv[1:])
    except VoyageurError as error:
        _say(error.text())
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    except Exception:
        return _our_bug()


def _dispatch(arguments: list[str]) -> int:
    if arguments == ["status"] and "_VOY_COMPLETE" not in os.environ:
        # Typed all day, often from a loop; the parser of the command line takes longer to load than the answer.
        from voyageur.commands.listing import show_runs

        show_runs()
        return 0
    from voyageur.commands.verbs import run_verb

    return run_verb()


def _our_bug() -> int:
    import tempfile
    import traceback

    text = traceback.format_exc()
    with tempfile.NamedTemporaryFile("w", prefix="voyageur-bug-", suffix=".log", delete=False) as log:
        log.write(f"voyageur {__version__}, python {sys.version}\n{sys.argv[1:2]}\n{text}")
    last = text.strip().splitlines()[-1]
    _say(f"error: this is a bug in Voyageur\n  {last}\n\nhint: please report it with the log {log.name}")
    return 3


def _say(text: str) -> None:
    sys.stderr.buffer.write(text.encode("utf-8", "backslashreplace") + b"\n")
    sys.stderr.flush()
