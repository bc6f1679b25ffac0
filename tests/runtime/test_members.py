"""How a cluster inside the job ends: workers first, of each service only the topmost is told, and nothing is left."""

import os
import socket
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from voyageur.runtime import processes
from voyageur.runtime.members import Bell, Services

# As `ray start` does: it waits for its own child, and for ever if somebody else has ended that.
PARENT = """
import os, signal, subprocess, sys, time
child = subprocess.Popen([sys.executable, sys.argv[1], sys.argv[2]])
def told(*_):
    if child.poll() is None and not os.path.exists(sys.argv[2]):
        child.kill(); child.wait(); print("ended well", flush=True); os._exit(0)
signal.signal(signal.SIGTERM, told)
print("ready", flush=True)
while True: time.sleep(0.05)
"""
CHILD = """
import signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: open(sys.argv[1], "w"))
while True: time.sleep(0.05)
"""
DEAF = (
    "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint('ready', flush=True)\ntime.sleep(600)\n"
)


def services(folder: Path, *words: str) -> Services:
    found = Services({**os.environ, "VOY_HEAD": " ".join(words)}, str(folder), lambda _: True)
    found.start("VOY_HEAD")
    until(lambda: "ready" in found.last_words("VOY_HEAD"))
    return found


def until(done) -> None:  # type: ignore[no-untyped-def]
    deadline = time.monotonic() + 30
    while not done():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_only_the_topmost_of_a_service_is_told(tmp_path: Path) -> None:
    (tmp_path / "parent.py").write_text(PARENT)
    (tmp_path / "child.py").write_text(CHILD)
    found = services(tmp_path, sys.executable, "parent.py", "child.py", "child-was-told")
    until(lambda: len(processes.family(found.started[0].pid)) == 2)
    family = list(processes.family(found.started[0].pid))
    found.end()
    assert found.last_words("VOY_HEAD").endswith("ended well")
    assert not (tmp_path / "child-was-told").exists()
    assert not set(family) & set(processes.processes())


def test_a_service_that_does_not_listen_is_killed(tmp_path: Path) -> None:
    (tmp_path / "deaf.py").write_text(DEAF)
    found = services(tmp_path, sys.executable, "deaf.py")
    found.end()
    assert found.started[0].wait(10) == -9


@pytest.fixture
def bell() -> Iterator[tuple[Bell, list[socket.socket]]]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    found = Bell(port)
    lines = [socket.create_connection(("127.0.0.1", port), 10) for _ in range(2)]
    until(lambda: len(found._lines) == 2)
    yield found, lines
    for line in lines:
        line.close()


def test_the_first_waits_until_the_workers_are_gone(bell: tuple[Bell, list[socket.socket]]) -> None:
    first, lines = bell
    ended: list[int] = []

    def work(number: int) -> None:
        assert lines[number].recv(1) == b""
        ended.append(number)
        lines[number].close()

    workers = [threading.Thread(target=work, args=(number,)) for number in range(2)]
    for worker in workers:
        worker.start()
    first.ring()
    assert sorted(ended) == [0, 1]
    for worker in workers:
        worker.join()


def test_and_not_for_ever(bell: tuple[Bell, list[socket.socket]]) -> None:
    first, lines = bell
    first.ring()
    assert [line.recv(1) for line in lines] == [b"", b""]
