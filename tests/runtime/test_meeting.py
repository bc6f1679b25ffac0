"""Where ranks meet: addresses that can be reached, ports that are free, and who is who."""

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.runtime.scripts import SOURCE
from voyageur.runtime import blanks, meeting

HOSTNAMES = "#!/bin/sh\ncase $2 in hostnames) printf 'n1\\nn2\\n';; node) cat <<'END'\n{told}\nEND\n;; esac\n"


def scontrol(folder: Path, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Slurm that says so much of its nodes."""
    tool = folder / "scontrol"
    tool.write_text(HOSTNAMES.format(told=told))
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def test_a_job_on_one_node_needs_no_network() -> None:
    assert meeting.meet({"SLURM_JOB_NODELIST": "no-such-node"})["MASTER_ADDR"] == "127.0.0.1"


def test_names_that_do_not_resolve_are_asked_of_slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = "NodeName=n1 Arch=x\n   NodeAddr=10.1.2.3 NodeHostName=h\n\nNodeName=n2\n   NodeAddr=10.1.2.4\n"
    scontrol(tmp_path, told, monkeypatch)
    found = meeting.meet({"SLURM_JOB_NODELIST": "n[1-2]"})
    assert (found["MASTER_ADDR"], found["VOY_NODE_ADDRESSES"]) == ("10.1.2.3", "10.1.2.3,10.1.2.4")
    assert found["VOY_NODE_NAMES"] == "n1,n2"


def test_a_name_that_nobody_knows_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scontrol(tmp_path, "", monkeypatch)
    with pytest.raises(meeting.MeetingError, match=r"the node name n1 does not resolve.*MASTER_ADDR"):
        meeting.meet({"SLURM_JOB_NODELIST": "n[1-2]"})


def test_the_interface_of_the_profile_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scontrol(tmp_path, "NodeName=n1 NodeAddr=10.1.2.3\n\nNodeName=n2 NodeAddr=10.1.2.4", monkeypatch)
    found = meeting.meet({"SLURM_JOB_NODELIST": "n[1-2]", "VOY_INTERFACE": "hsn0, lo"})
    assert found["MASTER_ADDR"] == "127.0.0.1"


def test_what_somebody_has_set_stays() -> None:
    with socket.socket() as free:
        free.bind(("", 0))
        port = str(free.getsockname()[1])
    asked = {"SLURM_JOB_NODELIST": "10.9.9.9", "MASTER_ADDR": "10.0.0.1", "MASTER_PORT": port}
    found = meeting.meet(asked)
    assert (found["MASTER_ADDR"], found["MASTER_PORT"]) == ("10.0.0.1", port)


def test_a_port_that_is_in_use_is_said() -> None:
    with socket.socket() as taken:
        taken.bind(("", 0))
        port = taken.getsockname()[1]
        with pytest.raises(meeting.MeetingError, match=f"MASTER_PORT={port} is in use"):
            meeting.meet({"SLURM_JOB_NODELIST": "127.0.0.1", "MASTER_PORT": str(port)})


def test_runs_begin_to_look_in_different_places_and_pass_over_what_is_taken() -> None:
    def port(token: str) -> int:
        return int(meeting.meet({"SLURM_JOB_NODELIST": "127.0.0.1", "VOY_TOKEN": token})["MASTER_PORT"])

    found = [port(f"{number:012x}") for number in range(20)]
    assert len(set(found)) > 15
    with socket.socket() as taken:
        taken.bind(("", port("a")))
        assert port("a") != taken.getsockname()[1]


# ── who is who ───────────────────────────────────────────────────────────────────────────────────────────────────────

JOB = {
    "VOY_NODE_NAMES": "n1,n2",
    "VOY_NODE_ADDRESSES": "10.0.0.1,10.0.0.1",
    "VOY_RANKS": "2",
    "VOY_TASKS_ARE": "ranks",
    "MASTER_PORT": "25000",
}


def test_a_rank_of_srun_and_one_of_mpirun_are_told_the_same() -> None:
    by_srun = {**JOB, "SLURM_PROCID": "3", "SLURM_LOCALID": "1", "SLURM_NODEID": "1"}
    by_mpirun = {**JOB, "SLURM_PROCID": "0", "SLURM_LOCALID": "0", "SLURM_NODEID": "0", "PMI_RANK": "3"}
    for environment in (by_srun, by_mpirun):
        told = blanks.of_task(environment)
        assert [told[name] for name in blanks.TOLD] == ["3", "1", "4", "2", "1"]


def test_a_task_that_only_starts_others_has_no_rank() -> None:
    told = blanks.of_task({**JOB, "VOY_TASKS_ARE": "nodes", "SLURM_PROCID": "1", "SLURM_NODEID": "1"})
    assert told["NODE_RANK"] == "1"
    assert "RANK" not in told


def test_every_rank_has_a_port_of_its_own_where_nodes_share_an_address() -> None:
    known = {**JOB, **blanks.of_task({**JOB, "SLURM_PROCID": "2", "SLURM_NODEID": "1"})}
    each = blanks.each({**known, "VOY_EACH": '\'X={"workers":{RANK_ADDRESSES},"index":{RANK}}\''})
    said = json.loads(each["X"])
    assert said == {"workers": [f"10.0.0.1:{port}" for port in range(25001, 25005)], "index": 2}


def test_a_rank_sees_its_own_gpu_where_the_style_wants_it() -> None:
    environment = {"VOY_VISIBLE_GPUS": "one", "CUDA_VISIBLE_DEVICES": "4,5,6,7", "LOCAL_RANK": "2"}
    assert blanks.visible_gpu(environment) == {"CUDA_VISIBLE_DEVICES": "6"}
    assert blanks.visible_gpu({**environment, "VOY_VISIBLE_GPUS": ""}) == {}


RUN = "import sys; from voyageur.runtime.main import main; sys.exit(main(sys.argv[1:]))"


# ── one worker of another launcher ───────────────────────────────────────────────────────────────────────────────────


def test_a_workers_lines_carry_its_rank_and_its_death_is_written_down(tmp_path: Path) -> None:
    script = "import sys; print('out'); print('err', file=sys.stderr); sys.stdout.write('no end'); sys.exit(7)"
    argv = [sys.executable, "-c", RUN, "rank", "--", sys.executable, "-uc", script]
    environment = {
        "PYTHONPATH": str(SOURCE),
        "PATH": "/usr/bin:/bin",
        "VOY_RUN_DIR": str(tmp_path),
        "RANK": "5",
        "NODE_NAME": "n3",
    }
    answer = subprocess.run(argv, env=environment, capture_output=True, text=True, check=False)
    assert (answer.returncode, answer.stdout, answer.stderr) == (7, "5: out\n5: no end\n", "5: err\n")
    event = json.loads((tmp_path / "events.jsonl").read_text())
    assert (event["event"], event["rank"], event["node"], event["code"]) == ("task failed", 5, "n3", 7)
    assert sorted(event["last"]) == ["err", "no end", "out"]
