"""Real processes: who hears a warning, who is spared, and how a stop ends."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.runtime.scripts import answer
from voyageur.runtime import processes

AROUND = {"PATH": "/usr/bin:/bin", "PYTHON": sys.executable}
LISTENER = """
import os, signal, sys, time
def heard(*_):
    open(sys.argv[1], "a").write("heard\\n")
    sys.exit(0)
signal.signal(signal.SIGUSR1, heard)
open(sys.argv[1], "a").write("ready\\n")
time.sleep(30)
"""


def wait_for(true: Callable[[], bool], seconds: float = 10) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Callable[[str], "subprocess.Popen[bytes]"]]:
    (tmp_path / "listener.py").write_text(LISTENER)
    started: list[subprocess.Popen[bytes]] = []

    def start(text: str) -> "subprocess.Popen[bytes]":
        started.append(subprocess.Popen(["bash", "-c", text], cwd=tmp_path, env=AROUND, start_new_session=True))
        return started[-1]

    yield start
    for process in started:
        processes.kill_all(process.pid)
        process.wait()


def said(file: Path) -> list[str]:
    return file.read_text().split() if file.exists() else []


def test_a_warning_reaches_the_listener_behind_two_shells(
    program: Callable[[str], "subprocess.Popen[bytes]"], tmp_path: Path
) -> None:
    shell = program("sh -c '$PYTHON listener.py said; true'; true")
    wait_for(lambda: said(tmp_path / "said") == ["ready"])
    assert len(processes.tell(shell.pid, signal.SIGUSR1)) == 1
    wait_for(lambda: said(tmp_path / "said") == ["ready", "heard"])
    assert shell.wait(10) == 0


def test_a_warning_kills_nobody_who_does_not_listen(
    program: Callable[[str], "subprocess.Popen[bytes]"], tmp_path: Path
) -> None:
    shell = program("sleep 30 & $PYTHON listener.py said & echo $! > pid; wait")
    wait_for(lambda: said(tmp_path / "said") == ["ready"])
    before = set(processes.family(shell.pid))
    (told,) = processes.tell(shell.pid, signal.SIGUSR1)
    assert told == int((tmp_path / "pid").read_text())
    wait_for(lambda: "heard" in said(tmp_path / "said"))
    wait_for(lambda: told not in processes.family(shell.pid))
    assert set(processes.family(shell.pid)) == before - {told}


def test_nobody_listens_nobody_is_told(program: Callable[[str], "subprocess.Popen[bytes]"]) -> None:
    shell = program("sleep 30; true")
    wait_for(lambda: len(processes.family(shell.pid)) == 2)
    assert processes.tell(shell.pid, signal.SIGUSR1) == []
    time.sleep(0.1)
    assert shell.poll() is None


def test_workers_below_a_listener_are_its_own_affair(
    program: Callable[[str], "subprocess.Popen[bytes]"], tmp_path: Path
) -> None:
    forking = LISTENER.replace("time.sleep(30)", "os.fork(); time.sleep(30)")
    (tmp_path / "listener.py").write_text(forking)
    shell = program("$PYTHON listener.py said; true")
    wait_for(lambda: said(tmp_path / "said") == ["ready"] and len(processes.family(shell.pid)) == 3)
    assert len(processes.tell(shell.pid, signal.SIGUSR1)) == 1


def test_a_process_that_is_gone_is_no_family() -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    assert processes.family(gone.pid) == {}
    assert processes.tell(gone.pid, signal.SIGUSR1) == []
    assert processes.listens(gone.pid, signal.SIGUSR1) is False
    assert os.getpid() in processes.family(os.getpid())


# The supervisor's side in a process of its own; says with what code the program ended and after how long.
WATCH = """
import signal, sys, time
from voyageur.runtime.child import Child, Mailbox
mailbox = Mailbox()
child = Child(["bash", "-c", sys.argv[1]], dict(PATH="/usr/bin:/bin"), sys.argv[2], float(sys.argv[3]))
time.sleep(0.7)
begin = time.monotonic()
if sys.argv[4] == "stop":
    child.stop()
code = child.watch(mailbox, lambda: None, 15.0, lambda signum: None)
print(code, round(time.monotonic() - begin, 1))
"""


def ended(program: str, folder: Path, grace: float = 2.0, action: str = "stop") -> tuple[int, float]:
    code, seconds = answer(WATCH, program, str(folder), str(grace), action).split()
    return int(code), float(seconds)


def test_a_stop_lets_a_listener_save_its_work(tmp_path: Path) -> None:
    text = "trap 'sleep 0.3; echo saved > saved; exit 5' TERM; while :; do sleep 0.1; done"
    code, _ = ended(text, tmp_path, grace=5)
    assert (code, (tmp_path / "saved").read_text()) == (5, "saved\n")


def test_a_stop_ends_those_who_do_not_listen_at_once(tmp_path: Path) -> None:
    code, seconds = ended("sleep 30; true", tmp_path, grace=10)
    assert code == -signal.SIGTERM
    assert seconds < 2


def test_a_stop_kills_those_who_will_not_end_after_their_grace(tmp_path: Path) -> None:
    code, seconds = ended("trap '' TERM; while :; do sleep 0.1; done", tmp_path, grace=1)
    assert code == -signal.SIGKILL
    assert 0.8 <= seconds < 4


def test_a_stop_kills_a_listener_that_never_comes_to_an_end(tmp_path: Path) -> None:
    code, seconds = ended("trap ':' TERM; while :; do sleep 0.1; done", tmp_path, grace=1)
    assert code == -signal.SIGKILL
    assert seconds < 4


def test_nothing_outlives_the_program(tmp_path: Path) -> None:
    code, _ = ended("setsid sleep 300 & echo $! > orphan; exit 3", tmp_path, action="watch")
    orphan = int((tmp_path / "orphan").read_text())
    assert code == 3
    wait_for(lambda: not os.path.exists(f"/proc/{orphan}") or "sleep" not in command_of(orphan))


def command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""
