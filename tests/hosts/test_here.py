"""Commands typed on this machine."""

import subprocess
import sys
import time
from pathlib import Path

from voyageur.hosts import Here
from voyageur.units import Duration


def test_an_answer_that_never_comes_is_waited_for_no_longer_than_said() -> None:
    started = time.monotonic()
    answer = Here().run(["bash", "-c", "echo first words; exec sleep 60"], patience=Duration(1))
    assert time.monotonic() - started < 5
    assert (answer.code, answer.output) == (None, "first words\n")


def test_a_child_of_the_command_holds_nobody_up_and_is_ended_with_it(tmp_path: Path) -> None:
    child = tmp_path / "child"
    started = time.monotonic()
    answer = Here().run(["bash", "-c", f"echo first words; sleep 60 & echo $! > {child}; wait"], patience=Duration(1))
    assert time.monotonic() - started < 5
    assert (answer.code, answer.output) == (None, "first words\n")
    words = Path(f"/proc/{child.read_text().strip()}/cmdline")
    assert not words.exists() or words.read_bytes() == b""


def test_a_command_that_does_not_read_what_it_is_given_is_no_end_of_ours() -> None:
    """`voy` lets SIGPIPE end it, so that `voy logs | head` is quiet; a refused sbatch must not do that."""
    program = (
        "import signal; signal.signal(signal.SIGPIPE, signal.SIG_DFL)\n"
        "from voyageur.hosts import Here; from voyageur.units import Duration\n"
        "answers = [Here().run(['false'], patience=Duration(9), read='x' * 200_000) for _ in range(5)]\n"
        "print([answer.code for answer in answers])"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (answer.returncode, answer.stdout) == (0, "[1, 1, 1, 1, 1]\n")


def test_what_it_is_given_is_read_from_the_start_by_any_name() -> None:
    for argv in (["cat"], ["cat", "/dev/stdin"]):
        assert Here().run(argv, patience=Duration(9), read="x=1\0y=é\0").output == "x=1\0y=é\0"
