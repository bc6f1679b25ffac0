"""argv -> commands; the one place that turns errors into exit codes."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
from typing import TextIO

from voyageur import __version__
from voyageur.errors import VoyageurError


def main() -> None:
    # Importing makes many objects that live to the end; looking through them for garbage is a tenth of the start.
    gc.set_threshold(100_000)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `voy logs RUN | head` ends as quietly as any other command
    _open_what_is_closed()
    sys.exit(_finish(_run()))


def _run() -> int:
    try:
        return _dispatch(sys.argv[1:])
    except VoyageurError as error:
        _say(error.text())
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0
    except Exception:
        # A write that failed left its text behind; if that fails again, the output is what is wrong, and not our code.
        lost = _lost(sys.stdout)
        return _cannot_write(lost) if lost else _our_bug()


def _dispatch(arguments: list[str]) -> int:
    completes = "_VOY_COMPLETE" in os.environ
    if arguments == ["status"] and not completes:
        # Typed all day, often from a loop; the parser of the command line takes longer to load than the answer.
        from voyageur.commands.listing import show_runs

        show_runs()
        return 0
    from voyageur.commands.verbs import run_verb

    return run_verb(arguments if arguments or completes else ["--help"])


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
    with contextlib.suppress(OSError):
        sys.stderr.buffer.write(text.encode("utf-8", "backslashreplace") + b"\n")
        sys.stderr.flush()


# ── the streams ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _open_what_is_closed() -> None:
    """`voy ... >&-`: the next file to be opened would become standard output, and a child would write into it."""
    for number, mode in ((0, "r"), (1, "w"), (2, "w")):
        try:
            os.fstat(number)
        except OSError:
            _send_to_nowhere(number)
            stream = os.fdopen(number, mode, encoding="utf-8", closefd=False)
            setattr(sys, ("stdin", "stdout", "stderr")[number], stream)


def _send_to_nowhere(number: int) -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    if nowhere == number:
        os.set_inheritable(number, True)
    else:
        os.dup2(nowhere, number)
        os.close(nowhere)


def _finish(code: int) -> int:
    """An answer that could not be written is an error, whatever went well before."""
    lost = _lost(sys.stdout)
    if lost and code == 0:
        code = _cannot_write(lost)
    _lost(sys.stderr)
    return code


def _lost(stream: TextIO) -> OSError | None:
    """Why something still waits to be written. Python would try again at its end, and fail in its own way."""
    try:
        stream.flush()
    except OSError as problem:
        _send_to_nowhere(1 if stream is sys.stdout else 2)
        return problem
    return None


def _cannot_write(problem: OSError) -> int:
    from voyageur.show.output import OutputError

    error = OutputError(problem)
    _say(error.text())
    return error.exit_code
