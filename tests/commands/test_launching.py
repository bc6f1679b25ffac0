"""What people are told of the launch before anything runs, and when it cannot run."""

from __future__ import annotations

import socket
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from tests.place import Place

INIT = "import torch.distributed as dist\ndist.init_process_group('gloo')\n"


def test_the_plan_gives_the_line_that_asks_for_the_style(local: Place) -> None:
    local.write("train.py", INIT)
    local.environment["VIRTUAL_ENV"] = ""
    answer = local.voy("plan", "-n", "2", "--", "python3", "train.py", PATH="/usr/bin:/bin")
    line = next(line for line in answer.stdout.splitlines() if line.startswith("launch"))
    assert line.split() == ["launch", "torchrun", "train.py:2", "calls", "torch.distributed.init_process_group"]


def test_the_users_word_wins(local: Place) -> None:
    local.write("train.py", INIT)
    answer = local.voy("plan", "-n", "2", "-W", "per-rank", "--", "python", "train.py")
    assert "per-rank" in next(line for line in answer.stdout.splitlines() if line.startswith("launch"))


def test_one_process_is_started_as_it_was(local: Place) -> None:
    local.write("train.py", INIT)
    answer = local.voy("plan", "--", "python", "train.py")
    assert "plain" in next(line for line in answer.stdout.splitlines() if line.startswith("launch"))


def test_a_style_that_is_not_installed_is_said_before_submitting(local: Place) -> None:
    place = local.project / ".venv"
    venv.create(place, symlinks=True)
    local.write("train.py", INIT)
    answer = local.voy("submit", "-n", "2", "--", "python", "train.py", code=2, VIRTUAL_ENV=str(place))
    assert "`torchrun` needs the package `torch`" in answer.stderr
    assert f"hint: `{place}/bin/python -m pip install torch`" in answer.stderr


def test_so_is_lightning_by_the_name_that_the_program_imports(local: Place) -> None:
    place = local.project / ".venv"
    venv.create(place, symlinks=True)
    local.write("fit.py", "from pytorch_lightning import Trainer\nTrainer(num_nodes=2)\n")
    answer = local.voy("submit", "-n", "2", "--", "python", "fit.py", code=2, VIRTUAL_ENV=str(place))
    assert "`lightning` needs the package `pytorch_lightning`" in answer.stderr


def test_or_else_at_the_first_second_of_the_run(local: Place) -> None:
    """Nothing is activated, so only the run can know what its Python has."""
    local.write("train.py", INIT)
    ended = local.finish("-n", "2", "-W", "jax", "--", "python3", "train.py", VIRTUAL_ENV="", PATH="/usr/bin:/bin")
    assert ended["state"] == "failed"
    assert "has no module `jax`" in ended["because"]


def test_lines_of_one_rank_and_of_one_node(local: Place) -> None:
    local.write("say.py", "import os\nfor i in range(3): print('line', i, 'of', os.environ['RANK'])\n")
    run = local.submit("-n", "2", "--tasks", "2", "--", "python", "say.py")
    local.wait(run, code=0)
    assert local.voy("logs", "--rank", "3", run).stdout.splitlines() == [f"3: line {i} of 3" for i in range(3)]
    assert local.voy("logs", "--rank", "3", "-n", "1", run).stdout == "3: line 2 of 3\n"
    of_node = local.voy("logs", "--node", "local2", run).stdout.splitlines()
    assert sorted({line[0] for line in of_node}) == ["2", "3"] and len(of_node) == 6
    answer = local.voy("logs", "--node", "local9", run, code=2)
    assert "its nodes: local1, local2" in answer.stderr


def test_after_all_their_lines_those_of_the_first_that_failed_come_once_more(local: Place) -> None:
    local.write(
        "dies.py",
        "import os, sys, time\nrank = os.environ['RANK']\nif rank == '2': sys.exit('no such layer')\n"
        "time.sleep(3)\nsys.exit('lost the others')\n",
    )
    answer = local.voy("run", "-n", "2", "--tasks", "2", "--", "python", "dies.py", code=1)
    title, words, sentence, *_ = answer.stderr[answer.stderr.index("the last lines of rank") :].splitlines()
    assert (title, words) == ("the last lines of rank 2, the first that failed:", "  no such layer")
    assert sentence.endswith(" failed: rank 2 on local2: exit code 1")


def test_a_launcher_of_ones_own_is_filled_in_on_each_node(local: Place) -> None:
    example = Path(__file__).parents[2] / "examples" / "custom"
    for name in ("hello.py", "voyageur.toml"):
        local.write(name, (example / name).read_text())
    ended = local.finish()
    log = local.log(ended["run"])
    assert ended["state"] == "done"
    assert "node 0 of 2, the first is 127.0.0.1:" in log and "node 1 of 2" in log


def test_copies_go_on_when_one_of_them_fails_and_know_no_rank(local: Place) -> None:
    local.write(
        "twin.py",
        "import os, sys, time\ncopy = os.environ['VOY_COPY']\nif copy == '1': sys.exit(3)\n"
        "time.sleep(1)\nprint('copy', copy, 'of', os.environ['VOY_COPIES'], 'RANK' in os.environ)\n",
    )
    ended = local.finish("-W", "replicas", "--tasks", "3", "--", "python", "twin.py")
    log = local.log(ended["run"])
    assert ended["because"] == "rank 1 on local1: exit code 3"
    assert "copy 0 of 3 False" in log and "copy 2 of 3 False" in log


def test_every_node_is_looked_at_before_the_ranks_start(local: Place) -> None:
    local.write("ok.py", "print('ran')\n")
    local.write("voyageur.toml", "[launch]\npreflight = true\n")
    ended = local.finish("-n", "3", "--", "python", "ok.py")
    assert ended["state"] == "done"
    assert [event["bad"] for event in ended["events"] if event["event"] == "nodes looked at"] == [{}]


def test_a_run_in_which_nothing_happens_is_told(local: Place) -> None:
    local.write("hang.py", "import threading\nprint('begun', flush=True)\nthreading.Event().wait()\n")
    local.write("voyageur.toml", "[launch]\nquiet = '2s'\n")
    run = local.submit("-n", "2", "--", "python", "hang.py")
    local.until_logged(run, "begun")
    local.until(lambda: [event for event in local.status(run)["events"] if event["event"] == "nothing happens"], 60)
    assert "does it hang?" in local.voy("status", run).stdout
    local.voy("cancel", run)
    local.wait(run, code=1)


# ── where the ranks cannot meet ──────────────────────────────────────────────────────────────────────────────────────


def fails_at_once(local: Place, **variables: str) -> str:
    lines = "".join(f'{name} = "{value}"\n' for name, value in variables.items())
    local.write("voyageur.toml", f"[env.variables]\n{lines}")
    local.write("ok.py", "print('ran')\n")
    ended = local.finish("-n", "2", "-W", "per-rank", "--", "python3", "ok.py")
    assert ended["state"] == "failed" and "ran" not in local.log(ended["run"]).split()
    return str(ended["because"])


def test_a_port_that_somebody_else_has_is_said_at_the_first_second(local: Place) -> None:
    with socket.socket() as taken:
        taken.bind(("", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert fails_at_once(local, MASTER_PORT=str(port)).startswith(f"MASTER_PORT={port} is in use on ")


def test_so_is_a_name_that_does_not_resolve(local: Place) -> None:
    because = fails_at_once(local, MASTER_ADDR="no-such-host.invalid")
    assert because.startswith("MASTER_ADDR=no-such-host.invalid does not resolve on ")


def test_so_is_a_starter_that_is_not_there(local: Place) -> None:
    local.write("ok.py", "print('ran')\n")
    ended = local.finish("-n", "2", "-W", "mpi", "--", "python3", "ok.py", VIRTUAL_ENV="", PATH="/usr/bin:/bin")
    assert ended["because"] == "mpirun cannot be started: No such file or directory"


def test_a_program_that_is_missing_is_all_that_is_said_of_it(local: Place) -> None:
    """The other nodes wait for the head of the cluster, which never comes; how they end is nobody's concern."""
    local.write("ok.py", "print('ran')\n")
    ended = local.finish("-n", "2", "-W", "spark", "--", "python3", "ok.py", VIRTUAL_ENV="", PATH="/usr/bin:/bin")
    assert (ended["because"], ended["exit_code"]) == ("on local1: there is no `spark-submit` on this node", 127)
    assert "hint" not in local.voy("status", ended["run"]).stdout


def test_a_run_whose_cluster_never_comes_up_can_be_cancelled(local: Place) -> None:
    place = local.root / "env"
    venv.create(place, symlinks=True)
    for name in ("spark-submit", "spark-class"):
        (place / "bin" / name).write_text(f"#!/bin/sh\ntouch {local.root}/waits\nexec sleep 600\n")
        (place / "bin" / name).chmod(0o755)
    local.write("ok.py", "print('ran')\n")
    run = local.submit("-n", "2", "-W", "spark", "--", "python", "ok.py", VIRTUAL_ENV=str(place))
    local.until((local.root / "waits").exists)
    local.voy("cancel", run)
    assert local.wait(run, code=1)["state"] == "cancelled"
    assert local.node_folders() == []
    assert "killed" not in local.log(run).lower()


# ── a style that somebody else's package brings ──────────────────────────────────────────────────────────────────────

THEIRS = """
from voyageur.launch import Launcher, Style, Tasks

class Theirs(Style):
    name = "theirs"
    title = "ranks behind a word of their own"
    tasks = Tasks.RANKS

    def launcher(self, wanted):
        return Launcher(words=("env", "THEIR_NODES={NODES}"))
"""


def install(local: Place, module: str) -> dict[str, str]:
    """A wheel, as any package's, put beside Voyageur by pip."""
    wheel = local.root / "theirs-1.0-py3-none-any.whl"
    about = "theirs-1.0.dist-info"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("their_style.py", module)
        archive.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
        archive.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{about}/entry_points.txt", "[voyageur.launch_styles]\ntheirs = their_style:Theirs\n")
        archive.writestr(f"{about}/RECORD", "")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--target"]
    subprocess.run([*pip, str(local.root / "more"), str(wheel)], check=True, capture_output=True)
    return {"PYTHONPATH": str(local.root / "more")}


def test_a_package_that_is_installed_brings_its_style(local: Place) -> None:
    local.write("say.py", "import os\nprint('rank', os.environ['RANK'], 'nodes', os.environ['THEIR_NODES'])\n")
    ended = local.finish("-n", "2", "-W", "theirs", "--", "python3", "say.py", **install(local, THEIRS))
    log = local.log(ended["run"])
    assert ended["state"] == "done" and "rank 0 nodes 2" in log and "rank 1 nodes 2" in log
    answer = local.voy("plan", "-W", "their", "--", "python3", "say.py", code=2, PYTHONPATH=str(local.root / "more"))
    assert "theirs: ranks behind a word of their own" in answer.stderr


@pytest.mark.parametrize(
    ("module", "problem"), [("import nothing_of_this_name\n", "No module named"), ("Other = 1\n", "no attribute")]
)
def test_one_that_cannot_be_loaded_is_named(local: Place, module: str, problem: str) -> None:
    local.write("say.py", "")
    answer = local.voy("plan", "-W", "theirs", "--", "python3", "say.py", code=2, **install(local, module))
    assert "error: the launch style `theirs` cannot be loaded" in answer.stderr
    assert problem in answer.stderr and "of the package theirs" in answer.stderr
