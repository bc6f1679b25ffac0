"""The process that holds a bed: it starts every daemon, and takes all down however its owner ends.

Its standard input comes from the owner, one line of JSON for each wish; its standard output goes back, one
line for each answer. The end of the input, or of the owner, is the order to tear down.
"""

import contextlib
import ctypes
import json
import os
import select
import signal
import subprocess
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from .configuration import write_configuration
from .layout import Layout, choose_layout
from .namespaces import make_bridge, make_node
from .polling import poll_until
from .processes import alive, reap
from .services import ADMINISTRATOR_PATH, client_environment, is_ready, start_service
from .sweep import hold_lock, sweep_abandoned
from .teardown import tear_down

_PR_SET_CHILD_SUBREAPER = 36
_LONGEST_START = 30.0


def main() -> None:
    _outlive_the_terminal()
    os.environ["PATH"] = ADMINISTRATOR_PATH
    wishes = _wishes()
    order = next(wishes)
    layout: Layout | None = None
    try:
        sweep_abandoned()
        layout = choose_layout(order["kind"], order["settings"])
        hold_lock(layout)
        _log_to(layout)
        bring_up(layout)
        _answer(root=str(layout.root))
        _serve(layout, wishes)
    except Exception as error:
        _answer(error=_explain(layout, error))
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if layout is not None:
            tear_down(layout)


def _outlive_the_terminal() -> None:
    def stop(*_: object) -> NoReturn:
        raise SystemExit(0)

    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, stop)
    # Whatever loses its parent (a job's steps after slurmd died, daemonised programs) becomes a child of this
    # process instead of process 1, so that at the end everything of the bed can be found below it.
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _log_to(layout: Layout) -> None:
    log = os.open(layout.log("keeper"), os.O_WRONLY | os.O_CREAT, 0o644)
    os.dup2(log, 2)
    layout.pid_file("keeper").write_text(str(os.getpid()), encoding="utf-8")


def bring_up(layout: Layout) -> None:
    write_configuration(layout)
    start_service(layout, "munge")
    if layout.kind == "P":
        start_service(layout, "database")
        _make_machines(layout)
        _start_accounting(layout)
    _start_and_wait(layout, "munge", started=True)
    _start_and_wait(layout, "controller")
    for node in layout.nodes:
        start_service(layout, node)
    for node in layout.nodes:
        _start_and_wait(layout, node, started=True)


def _make_machines(layout: Layout) -> None:
    make_bridge(layout)
    for node in layout.nodes:
        make_node(layout, node)


def _start_accounting(layout: Layout) -> None:
    """slurmctld does not start for a cluster that slurmdbd has not heard of."""
    _start_and_wait(layout, "database", started=True)
    _start_and_wait(layout, "accounting")
    subprocess.run(
        ["sacctmgr", "--immediate", "add", "cluster", f"bed{layout.tag}"],
        env=client_environment(layout), capture_output=True, text=True, check=True, timeout=_LONGEST_START,
    )  # fmt: skip


def _start_and_wait(layout: Layout, name: str, started: bool = False) -> None:
    if not started:
        start_service(layout, name)
    pid = int(layout.pid_file(name).read_text(encoding="utf-8"))

    def answers_or_died() -> bool:
        reap()
        return is_ready(layout, name) or not alive(pid)

    poll_until(answers_or_died, _LONGEST_START, f"an answer of {name}")
    if not alive(pid):
        raise ChildProcessError(f"{name} ended while it started")


def _serve(layout: Layout, wishes: Iterator[dict[str, Any]]) -> None:
    for wish in wishes:
        try:
            _answer(pid=start_service(layout, wish["start"]))
        except Exception as error:
            traceback.print_exc()
            _answer(error=_explain(layout, error))


def _wishes() -> Iterator[dict[str, Any]]:
    """The owner's wishes until it ends.

    A child that the owner forked may hold the pipe open after the owner's death, hence the look at its
    process too.
    """
    owner = os.pidfd_open(os.getppid())
    text = b""
    while True:
        readable, _, _ = select.select([0, owner], [], [], 0.5)
        reap()
        if 0 in readable:
            piece = os.read(0, 65536)
            if not piece:
                return
            *lines, text = (text + piece).split(b"\n")
            yield from (json.loads(line) for line in lines)
        elif owner in readable:
            return


def _answer(**fields: object) -> None:
    # A broken pipe: the owner is gone, which the next look at its process tells.
    with contextlib.suppress(BrokenPipeError):
        os.write(1, json.dumps(fields).encode() + b"\n")


def _explain(layout: Layout | None, error: Exception) -> str:
    output = getattr(error, "stderr", None) or ""
    lines = [f"{type(error).__name__}: {error}", str(output).strip()]
    if layout is not None:
        lines += [_end_of(path) for path in sorted((layout.root / "log").iterdir())]
    return "\n".join(line for line in lines if line)


def _end_of(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return "\n  ".join([f"{log.name}:", *lines[-4:]])


if __name__ == "__main__":
    main()
