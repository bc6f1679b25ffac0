"""The look at the nodes before a run."""

import socket
import threading
from pathlib import Path

import pytest

from voyageur.runtime import preflight


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("", 0))
        return int(probe.getsockname()[1])


def report(node: str, number: int, *problems: str) -> preflight.Report:
    return {"node": node, "number": number, "problems": list(problems)}


def test_nodes_that_reach_each_other_and_have_all_they_need_are_good() -> None:
    port, heard = free_port(), []
    other = threading.Thread(
        target=lambda: heard.append(preflight.send(("127.0.0.1", port), report("n2", 1), patience=10))
    )
    other.start()
    found = preflight.gather(port, report("n1", 0), ["n1", "n2"], patience=10)
    other.join()
    assert heard == [True]
    assert preflight.bad(found, ["n1", "n2"]) == {}


def test_a_node_that_does_not_come_is_named() -> None:
    found = preflight.gather(free_port(), report("n1", 0), ["n1", "n2"], patience=0.3)
    assert preflight.bad(found, ["n1", "n2"]) == {"n2": "it does not reach the first node"}


def test_what_is_wrong_on_a_node_is_told() -> None:
    assert preflight.bad([report("n1", 0, "a", "b")], ["n1"]) == {"n1": "a; b"}


@pytest.mark.parametrize(
    ("says", "problem"),
    [
        ("echo 'GPU 0: x'; echo 'GPU 1: x'", ""),
        ("echo 'GPU 0: x'", "1 of 2 GPUs are there"),
        ("echo 'GPU 0: x'; echo '  MIG 1g.5gb Device 0: y'; echo '  MIG 1g.5gb Device 1: z'", ""),
        ("echo 'No devices were found'; exit 6", "0 of 2 GPUs are there: No devices were found"),
    ],
)
def test_gpus_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str, problem: str) -> None:
    tool = tmp_path / "nvidia-smi"
    tool.write_text(f"#!/bin/sh\n{says}\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    found = preflight.problems({"TMPDIR": str(tmp_path), "VOY_GPUS": "2"})
    assert found == ([problem] if problem else [])
