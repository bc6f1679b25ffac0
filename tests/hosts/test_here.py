"""Commands typed on this machine."""

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
