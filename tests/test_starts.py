"""What sbatch --test-only answers: recorded of Slurm 22.05.8; a banner was added to one, one was shortened."""

from datetime import datetime

import pytest

from voyageur.slurm_text.starts import start_from

START = "sbatch: Job 3 to start at 2026-11-18T19:56:50 using 32 processors on nodes bed[1-4] in partition low\n"


@pytest.mark.parametrize(
    ("errors", "partition"),
    [
        (START, "low"),
        (f"*** maintenance on Friday: Job 7 to start at noon ***\n{START}", "low"),
        (START.replace("on nodes ", "on ").replace(" in partition low", ""), ""),
    ],
)
def test_when_where_and_with_how_much(errors: str, partition: str) -> None:
    start = start_from(0, "", errors)
    assert start.at == datetime(2026, 11, 18, 19, 56, 50)
    assert (start.processors, start.nodes, start.partition) == (32, "bed[1-4]", partition)


@pytest.mark.parametrize(
    ("errors", "words"),
    [
        ("allocation failure: Requested node configuration is not available\n",) * 2,
        (
            "sbatch: error: invalid partition specified: nope\nallocation failure: Invalid partition name specified\n",
            "allocation failure: Invalid partition name specified",
        ),
        ("allocation failure: Invalid feature specification\n",) * 2,
    ],
)
def test_a_refusal_is_no_start(errors: str, words: str) -> None:
    start = start_from(1, "", errors)
    assert (start.at, start.refusal, start.silence) == (None, words.strip(), "")


@pytest.mark.parametrize(
    ("code", "errors"),
    [
        (1, "allocation failure: Socket timed out on send/recv operation\n"),
        (1, "allocation failure: Unable to contact slurm controller (connect failure)\n"),
        (None, ""),
        (0, ""),
    ],
)
def test_silence_is_neither(code: int | None, errors: str) -> None:
    start = start_from(code, "", errors)
    assert start.at is None and not start.refusal and start.silence
