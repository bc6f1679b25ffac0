"""`voy budget` and `voy site accounts` where nobody can be asked."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.place import Place

ASKING = [("budget",), ("site", "accounts")]


@pytest.mark.parametrize("verb", ASKING)
def test_this_machine_charges_nobody(local: Place, verb: tuple[str, ...]) -> None:
    answer = local.voy(*verb, code=2)
    assert answer.stdout == ""
    assert answer.stderr.startswith("error: this machine counts nothing, and charges nobody\n")


@pytest.mark.parametrize("verb", ASKING)
def test_a_cluster_that_is_elsewhere_cannot_be_asked(local: Place, verb: tuple[str, ...]) -> None:
    answer = local.voy(*verb, "--on", "narval", code=2)
    assert answer.stderr == (
        "error: this machine does not belong to narval, so it cannot be asked\n\n"
        "hint: log in there (narval.alliancecan.ca) and ask again\n"
    )


def test_a_plan_for_a_cluster_that_is_elsewhere_asks_nobody(local: Place, tmp_path: Path) -> None:
    """Another cluster's Slurm would say which accounts are good there, not here."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("sbatch", "sshare", "sacctmgr", "scontrol"):
        (tools / name).write_text(f"#!/bin/bash\ntouch {tmp_path}/{name}-was-asked\n")
        (tools / name).chmod(0o755)
    local.write("train.py", "print(1)\n")
    path = f"{tools}:{os.environ['PATH']}"
    local.voy("plan", "--on", "narval", "-a", "def-x", "--", "python", "train.py", code=0, PATH=path)
    assert not list(tmp_path.glob("*-was-asked"))
