"""Who called MPI_Abort, by what MPICH and Open MPI really write."""

from pathlib import Path

import pytest

from voyageur.runtime import abort

ABOUT = {"VOY_NODE_NAMES": "n1,n2", "VOY_RANKS": "2"}
MPICH = (
    "0: begun\n2: begun\n2: RuntimeError: rank 2 was told to fail\n"
    "2: Abort(1) on node 2 (rank 2 in comm 0): application called MPI_Abort(MPI_COMM_WORLD, 1) - process 2\n"
    "12: application called nothing\n"
)
OPEN_MPI = (
    "3: RuntimeError: no data\n"
    "--------------------------------------------------------------------------\n"
    "MPI_ABORT was invoked on rank 3 in communicator MPI_COMM_WORLD\nwith errorcode 1.\n"
)


@pytest.mark.parametrize(
    ("said", "rank", "last"), [(MPICH, 2, "Abort(1) on node 2"), (OPEN_MPI, 3, "RuntimeError: no data")]
)
def test_the_rank_its_node_and_its_last_lines(tmp_path: Path, said: str, rank: int, last: str) -> None:
    log = tmp_path / "log"
    log.write_text(said)
    found = abort.find(str(log), 0, ABOUT)
    assert (found["rank"], found["node"]) == (rank, "n2")
    assert found["last"][-1].startswith(last)


def test_where_the_words_about_the_abort_are_lost_the_exception_tells(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text('1: begun\n3: Traceback (most recent call last):\n3:   File "x.py"\n1: goes on\n3: KeyError: 7\n')
    assert abort.find(str(log), 0, ABOUT) == {}
    found = abort.find_exception(str(log), 0, ABOUT)
    assert (found["rank"], found["node"], found["problem"]) == (3, "n2", "KeyError: 7")
    assert abort.find_exception(str(log), abort.size_of(str(log)), ABOUT) == {}


RAISED = '0: begun\n3: Traceback (most recent call last):\n3:   File "x.py"\n3: KeyError: 7\n'
ABORTED, KILLED = {"rank": 0, "code": -6, "ended": 5.0}, {"rank": 1, "code": -9, "ended": 4.0}


@pytest.mark.parametrize(
    ("known", "said", "rank"),
    [
        ([], RAISED, 3),
        ([ABORTED], RAISED, 3),
        ([ABORTED], "0: begun\n", None),
        ([ABORTED, KILLED], RAISED, None),
        ([ABORTED, KILLED], RAISED + MPICH, 2),
        ([ABORTED, {**KILLED, "first": True}], RAISED + MPICH, None),
    ],
)
def test_one_that_aborts_by_itself_may_only_have_lost_the_one_that_raised(
    tmp_path: Path, known: list[dict[str, object]], said: str, rank: int | None
) -> None:
    log = tmp_path / "log"
    log.write_text(said)
    assert abort.who_ended_all(known, str(log), 0, ABOUT).get("rank") == rank


def test_what_an_earlier_attempt_said_does_not_count(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(MPICH)
    assert abort.find(str(log), abort.size_of(str(log)), ABOUT) == {}
    assert abort.find(str(tmp_path / "absent"), 0, ABOUT) == {}
