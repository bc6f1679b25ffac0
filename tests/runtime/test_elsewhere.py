"""Which nodes are left out, and what Slurm is told of it. Scripts stand for its commands; the fault tests ask it."""

from __future__ import annotations

from pathlib import Path

import pytest

from voyageur.runtime.elsewhere import Elsewhere
from voyageur.runtime.folder import read_events
from voyageur.runtime.ledger import Ledger
from voyageur.runtime.slurm import Slurm

ANSWERS = {
    "sinfo": "case $* in *%E*) printf 'n1|down*|Not responding\\nn2|idle|none\\nn3|draining|bad \"disk|x\\n';; "
    "*) printf 'n1\\nn1\\nn2\\nn3\\n';; esac",
    "squeue": "printf '12_[3-8%%1]\\n9_[2,5]\\n40\\n'",
    "scontrol": 'echo "$@" >>{told}',
}


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Elsewhere:
    for name, answer in ANSWERS.items():
        (tmp_path / name).write_text(f"#!/bin/bash\n{answer.replace('{told}', str(tmp_path / 'told'))}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return made(tmp_path)


def made(folder: Path, **more: str) -> Elsewhere:
    around = {"VOY_RUN_DIR": str(folder), "VOY_RUN": "train-0123", "VOY_TOKEN": "0123456789ab", "SLURM_JOB_ID": "7"}
    around |= {"PATH": f"{folder}:/usr/bin:/bin", "SLURM_JOB_NAME": "train-0123456789ab", "SLURM_JOB_PARTITION": "main"}
    around |= {"SLURM_JOB_NUM_NODES": "2", **more}
    ledger = Ledger(around)
    return Elsewhere(around, ledger, Slurm(around, ledger))


def test_nodes_that_slurm_holds_to_be_down(elsewhere: Elsewhere) -> None:
    assert elsewhere.sick_of("n[1-3]") == {
        "n1": "Slurm calls it down (Not responding)",
        "n3": 'Slurm calls it draining (bad "disk|x)',
    }
    assert elsewhere.sick_of("") == {}


def test_what_waits_is_kept_away_and_what_is_submitted_too(elsewhere: Elsewhere, tmp_path: Path) -> None:
    elsewhere.leave_out({"n1": "its GPU is gone"})
    told = (tmp_path / "told").read_text().splitlines()
    assert told == [f"update JobId={job} ExcNodeList=n1" for job in ("9_[2,5]", "12_[3-8]", "40")]
    assert elsewhere.options() == ["--exclude=n1"]
    (event,) = read_events(str(tmp_path))
    assert (event["event"], event["node"], event["because"]) == ("node left out", "n1", "its GPU is gone")
    elsewhere.leave_out({"n1": "its GPU is gone"})
    assert len(read_events(str(tmp_path))) == 1


def test_no_node_is_left_out_when_too_few_would_be_left(elsewhere: Elsewhere, tmp_path: Path) -> None:
    elsewhere.leave_out({"n1": "sick"})
    elsewhere.leave_out({"n2": "sick"})
    assert elsewhere.known() == ["n1"]


def test_the_next_one_to_begin(elsewhere: Elsewhere) -> None:
    assert elsewhere.next_waiting() == "9_2"


def test_where_jobs_may_not_name_nodes_none_is_left_out(elsewhere: Elsewhere, tmp_path: Path) -> None:
    kept = made(tmp_path, VOY_LEAVE_OUT="0")
    assert not kept.may and kept.sick_of("n1") == {} and kept.options() == []
    assert kept.next_waiting() == "9_2"
    here = made(tmp_path, VOY_LOCAL_TOOLS="/x")
    assert not here.may and here.next_waiting() == ""
