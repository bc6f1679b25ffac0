"""The look at the nodes before a run."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

import pytest

from voyageur.runtime import preflight
from voyageur.runtime.ring import Report, Ring, judged


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("", 0))
        return int(probe.getsockname()[1])


def report(ring: Ring, number: int, *problems: str) -> Report:
    place = {"address": "127.0.0.1", "port": ring.port}
    return {"node": f"n{number + 1}", "number": number, "problems": list(problems), **place}


Found = tuple[list[Report], dict[str, str], dict[str, int]]


def look(count: int, **wrong: str) -> Found:
    """So many nodes, each in a thread; `wrong`: what is the matter with one of them."""
    port, rings = free_port(), [Ring() for _ in range(count)]
    reports = [report(ring, number, *filter(None, [wrong.get(f"n{number + 1}")])) for number, ring in enumerate(rings)]
    others = [
        threading.Thread(target=preflight.follow, args=(("127.0.0.1", port), reports[number], rings[number], 10.0))
        for number in range(1, count)
    ]
    for other in others:
        other.start()
    found = preflight.lead(port, reports[0], rings[0], [f"n{number + 1}" for number in range(count)], 10.0)
    for other in others:
        other.join()
    for ring in rings:
        ring.close()
    return found


def test_nodes_that_reach_each_other_and_have_all_they_need_are_good() -> None:
    _, bad, rates = look(3)
    assert bad == {}
    assert sorted(rates) == ["n1", "n2", "n3"] and all(rate > 10**6 for rate in rates.values())
    assert preflight.in_words(["n1", "n2", "n3"], bad, rates, {}).startswith("3 nodes looked at; the slowest link is")


def test_one_node_alone_has_nobody_to_reach() -> None:
    assert look(1)[1:] == ({}, {})


def test_a_node_that_does_not_come_is_named() -> None:
    ring = Ring()
    _, bad, rates = preflight.lead(free_port(), report(ring, 0), ring, ["n1", "n2"], patience=0.3)
    ring.close()
    assert (bad, rates) == ({"n2": "it does not reach the first node"}, {})


def test_a_node_that_the_one_before_it_does_not_reach_is_named() -> None:
    """It has reached the first node, and lets nobody in."""
    rings = [Ring(), Ring()]
    nodes = [report(rings[0], 0), report(rings[1], 1)]
    rings[1].close()
    seen = rings[0].go_around(nodes, 0)
    rings[0].close()
    bad, _ = judged(nodes, [seen])
    assert list(bad) == ["n2"]
    assert bad["n2"].startswith("n1 does not reach it at 127.0.0.1:") and "refused" in bad["n2"]


def test_a_sum_that_is_wrong_is_a_bad_node() -> None:
    nodes = [{"node": "n1", "number": 0}, {"node": "n2", "number": 1}]
    bad, _ = judged(nodes, [{"number": 0, "sum": 1, "rate": 1}, {"number": 1, "sum": 7, "rate": 1}])
    assert bad == {"n2": "numbers do not arrive there as they were sent"}


def test_what_is_wrong_on_a_node_is_told() -> None:
    assert look(2, n2="its disk is full")[1] == {"n2": "its disk is full"}


def test_names_that_do_not_resolve_are_told() -> None:
    assert preflight.unknown_names(["localhost", "no-such-node.invalid"]) == ["no-such-node.invalid"]
    text = preflight.in_words(["n1", "n2"], {}, {"n1": 10**8, "n2": 10**9}, {"n2": ["n1"]})
    assert text.endswith("that to n1, 100 MB/s; names that do not resolve on n2: n1")


@pytest.mark.parametrize(
    ("says", "problem"),
    [
        ("echo 'GPU 0: x'; echo 'GPU 1: x'", ""),
        ("echo 'GPU 0: x'", "1 of 2 GPUs are there"),
        ("echo 'GPU 0: x'; echo '  MIG 1g.5gb Device 0: y'; echo '  MIG 1g.5gb Device 1: z'", ""),
        ("echo 'No devices were found'; exit 6", "0 of 2 GPUs are there: No devices were found"),
        (
            "[ $1 = -L ] && { echo 'GPU 0: x'; echo 'GPU 1: x'; } || { echo '0, 0, No, No'; echo '1, 3, Yes, No'; }",
            "GPU 1 has broken memory, 3 errors that could not be corrected",
        ),
        ("[ $1 = -L ] && { echo 'GPU 0: x'; echo 'GPU 1: x'; } || { echo '0, [N/A], [N/A], [N/A]'; }", ""),
        ("[ $1 = -L ] && { echo 'GPU 0: x'; echo 'GPU 1: x'; } || { echo 'Field is not valid'; exit 2; }", ""),
    ],
)
def test_gpus_are_counted_and_asked_how_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str, problem: str
) -> None:
    """A mock: no machine that runs these tests has a GPU, so a small script stands for nvidia-smi."""
    tool = tmp_path / "nvidia-smi"
    tool.write_text(f"#!/bin/sh\n{says}\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    found = preflight.problems({"TMPDIR": str(tmp_path), "VOY_GPUS": "2"})
    assert found == ([problem] if problem else [])
