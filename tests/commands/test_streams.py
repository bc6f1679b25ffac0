"""Standard output and error as a shell may give them: full, closed, a terminal."""

from __future__ import annotations

import os
import pty
import re
import shlex
import subprocess
import time
from pathlib import Path

import pytest

from tests.place import VOY, Place
from voyageur.commands.following import Log

LINE = shlex.join(VOY)


def shell(local: Place, line: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", line], cwd=local.project, env=local.environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("words", ["status", "status --json", "--help", "plan -- true", "completion bash", "logs RUN"])
def test_a_full_disk_behind_the_output(local: Place, words: str) -> None:
    local.write("train.py", "print(1)")
    run = local.finish("--", "python", "train.py")["run"]
    answer = shell(local, f"{LINE} {words.replace('RUN', run)} >/dev/full")
    assert answer.stderr == (
        "error: the output cannot be written\n  No space left on device\n\nhint: make room, or send it elsewhere\n"
    )
    assert answer.returncode == 1


@pytest.mark.parametrize(
    ("words", "code"), [("status", 0), ("--help", 0), ("plan -- true", 0), ("plan -- pyhton", 2), ("logs no-such", 1)]
)
@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-", "2>/dev/full"])
def test_closed_streams_change_no_exit_code(local: Place, words: str, code: int, closed: str) -> None:
    local.write("train.py", "print(1)")
    answer = shell(local, f"{LINE} {words} {closed}")
    assert answer.returncode == code
    assert "Traceback" not in answer.stdout + answer.stderr and "bug" not in answer.stdout + answer.stderr


def test_a_run_with_closed_streams_is_a_run_like_any_other(local: Place) -> None:
    local.write("train.py", "print('here')")
    assert shell(local, f"{LINE} run -- python train.py <&- >&- 2>&-").returncode == 0
    (log,) = local.scratch.glob("*/hpc_outputs/*/output.log")
    assert "here\n" in log.read_text()


# ── logs ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_what_is_said_about_a_run_stands_on_a_line_of_its_own(local: Place) -> None:
    local.write("train.py", "print('no line break', end='')")
    answer = shell(local, f"{LINE} run -- python train.py 2>&1")
    assert re.search(r"^no line break\n[\w-]+ done$", answer.stdout, re.MULTILINE)


@pytest.mark.parametrize(
    ("text", "lines", "shown"),
    [
        (b"a\nb\nc\n", 2, b"b\nc\n"),
        (b"a\nb\nc", 2, b"b\nc"),
        (b"a\nb\nc\n", 9, b"a\nb\nc\n"),
        (b"a\nb\n", 0, b""),
        (b"", 3, b""),
        (b"\n\n\n", 2, b"\n\n"),
        (b"x" * 200_000 + b"\ny\n", 1, b"y\n"),
        (b"a\n" + b"x" * 200_000, 1, b"x" * 200_000),
        (b"a\n" + b"l\n" * 100_000, 70_000, b"l\n" * 70_000),
    ],
)
def test_the_last_lines(tmp_path: Path, text: bytes, lines: int, shown: bytes) -> None:
    (tmp_path / "log").write_bytes(text)
    with open(tmp_path / "shown", "wb") as target:
        Log(tmp_path / "log", target.write, lines).copy()
    assert (tmp_path / "shown").read_bytes() == shown


def test_the_last_lines_of_a_long_log_without_any_are_found_quickly(tmp_path: Path) -> None:
    with open(tmp_path / "log", "wb") as file:
        file.truncate(100 << 20)
    start = time.monotonic()
    assert Log(tmp_path / "log", None, 10).position == 0
    assert time.monotonic() - start < 3


# ── a terminal ───────────────────────────────────────────────────────────────────────────────────────────────────────


def on_a_terminal(local: Place, columns: int, *words: str, **environment: str) -> str:
    parent, child = pty.openpty()
    if columns:
        import fcntl
        import struct
        import termios

        fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen(
        [*VOY, *words], cwd=local.project, env={**local.environment, "TERM": "xterm", **environment},
        stdin=subprocess.DEVNULL, stdout=child, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(child)
    text = b""
    try:
        while block := os.read(parent, 65536):
            text += block
    except OSError:  # Linux says so when the last writer has gone
        pass
    os.close(parent)
    assert process.wait() == 0
    return text.decode().replace("\r\n", "\n")


def plain(text: str) -> str:
    return re.sub(r"\x1b\[\d+m", "", text)


@pytest.mark.parametrize(("columns", "edge"), [(80, 80), (0, 80), (60, 60), (120, 120)])
def test_a_plan_stays_within_the_terminal(local: Place, columns: int, edge: int) -> None:
    local.write("train.py", "print(1)")
    text = plain(on_a_terminal(local, columns, "plan", "-G", "a100", "--", "python", "train.py"))
    decisions = text.partition("\n\n")[0].splitlines()
    names = [line for line in decisions if not line.startswith(" ")]
    without_a_reason = ("run's folder", "checkpoints", "environment")
    assert max(len(line) for line in decisions if not line.startswith(without_a_reason)) <= edge
    assert "requeue" in {line.split(" ")[0] for line in names}
    if edge == 80:
        (place,) = [at for at, line in enumerate(decisions) if line.startswith("environment")]
        assert decisions[place + 1] == " " * 41 + "it was active when this was planned"


def test_in_a_pipe_every_decision_is_one_line(local: Place) -> None:
    local.write("train.py", "print(1)")
    text = local.voy("plan", "--", "python", "train.py").stdout
    assert re.search(
        r"^requeue        yes {23}a node that fails, or a preemption, is no reason .*$", text, re.MULTILINE
    )


def test_a_terminal_that_knows_no_colours_gets_none(local: Place) -> None:
    local.write("train.py", "print(1)")
    assert "\x1b[" in on_a_terminal(local, 80, "plan", "--", "python", "train.py")
    assert "\x1b[" not in on_a_terminal(local, 80, "plan", "--", "python", "train.py", TERM="dumb")


def test_the_colour_is_on_the_state_and_not_on_a_run_of_that_name(local: Place) -> None:
    local.write("train.py", "print(1)")
    run = local.finish("-e", "done", "--", "python", "train.py")["run"]
    listed = on_a_terminal(local, 100, "status")
    assert f"{run}  \x1b[32mdone\x1b[0m " in listed
