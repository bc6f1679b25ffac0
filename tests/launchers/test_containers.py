"""Launch styles inside a real Apptainer container, two nodes with two ranks each, on this machine and on real Slurms.

torch is not in the image: its virtual environment is bound in, as a user's own folder would be.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from tests.behaviour.test_containers import SAVES, sleepers
from tests.containers import apptainer, rootfs
from tests.containers.registry import registry
from tests.launchers.environments import EVERYTHING, environment
from tests.launchers.test_launchers import EXAMPLES, RANKS, place_of
from tests.place import Place

pytestmark = pytest.mark.skipif(not EVERYTHING, reason="`make test-launchers` runs it")

FAILS = """
import os, sys, time
import voyageur.job
rank = int(os.environ["RANK"])
print("inside", os.environ["APPTAINER_NAME"], os.environ["HOME"] == os.environ["VOY_TMP"] + "/home", flush=True)
time.sleep(2)
sys.exit(9 if rank == 2 else 0)
"""


@pytest.fixture(params=["local", "S", "P"])
def boxed(request: pytest.FixtureRequest) -> Place:
    place = place_of(request.param, request)
    image = place.scratch / "image.sif"
    shutil.copyfile(apptainer.sif(), image)
    write(place, image)
    return place


def write(place: Place, image: Path, more: str = "") -> None:
    place.write("voyageur.toml", f'[env]\nimage = "{image}"\nruntime = "{apptainer.program()}"\n{more}')


def test_torchrun_finds_all_ranks_in_containers_on_two_nodes(boxed: Place) -> None:
    made = environment("torch")
    shutil.copy(EXAMPLES / "torchrun" / "train.py", boxed.project)
    write(boxed, boxed.scratch / "image.sif", f'binds = ["{made}", "{sys.base_prefix}", "/usr/lib/x86_64-linux-gnu"]\n')
    asked = ["-n", "2", "--tasks", "2", "--memory", "2G", "-t", "5m", "-W", "torchrun"]
    ended = boxed.finish(*asked, "--", f"{made}/bin/python", "train.py")
    log = boxed.log(ended["run"])
    assert ended["state"] == "done", log
    assert log.count(RANKS) == 4, log
    assert boxed.node_folders() == []


def test_ranks_of_mpi_in_containers_meet_by_the_pmix_of_srun(production: Place) -> None:
    """The library is the container's; what it needs of Slurm comes in with the folders and variables of PMIx."""
    made, image = environment("openmpi"), production.scratch / "image.sif"
    shutil.copyfile(apptainer.sif(), image)
    shutil.copy(EXAMPLES / "mpi" / "pi.py", production.project)
    binds = f'binds = ["{made}", "{sys.base_prefix}", "/usr/lib/x86_64-linux-gnu"]\n[launch]\nmpi = "pmix"\n'
    write(production, image, binds)
    asked = ["-n", "2", "--tasks", "2", "--memory", "2G", "-t", "5m", "-W", "mpi"]
    ended = production.finish(*asked, "--", f"{made}/bin/python", "pi.py")
    log = production.log(ended["run"])
    assert ended["state"] == "done", log
    assert log.count(f"{RANKS}, pi 3.141593") == 4, log
    assert production.node_folders() == []


def test_the_rank_that_failed_inside_is_named(boxed: Place) -> None:
    boxed.write("fails.py", FAILS)
    ended = boxed.finish("-n", "2", "--tasks", "2", "-W", "per-rank", "--", "python3", "fails.py")
    log = boxed.log(ended["run"])
    assert (ended["state"], ended["exit_code"]) == ("failed", 9), log
    assert "rank 2" in ended["because"]
    assert log.count("inside image.sif True") == 4, log
    assert sorted(os.listdir(boxed.home)) == [".local"]


@pytest.mark.parametrize(
    ("verb", "signal", "state"), [("stop", "SIGUSR1", "stopped"), ("cancel", "SIGTERM", "cancelled")]
)
def test_apptainer_hands_no_signal_on_so_the_program_is_told_itself(
    boxed: Place, verb: str, signal: str, state: str
) -> None:
    if boxed.bed and boxed.bed.kind == "S":
        pytest.skip("a plain Slurm hands a step's signals to every process of it by itself")
    boxed.write("saves.py", SAVES)
    run = boxed.submit("--tasks", "1", "-W", "per-rank", "--", "python3", "saves.py", signal)
    boxed.until_logged(run, "begun")
    boxed.voy(verb, run)
    assert boxed.wait(run)["state"] == state
    assert f"heard {signal}" in boxed.log(run)
    boxed.until(lambda: not sleepers())


def test_a_cluster_of_services_inside(local: Place) -> None:
    """Dask's scheduler and workers, each in a container, beside the command in one of its own."""
    made = environment("dask")
    shutil.copytree(EXAMPLES / "dask", local.project, dirs_exist_ok=True)
    binds = f'binds = ["{made}", "{sys.base_prefix}", "/usr/lib/x86_64-linux-gnu"]\n'
    table = f'\n[env]\nimage = "{apptainer.sif()}"\nruntime = "{apptainer.program()}"\n{binds}'
    local.write("voyageur.toml", (local.project / "voyageur.toml").read_text() + table)
    program = next(local.project.glob("*.py")).name
    ended = local.finish("--", f"{made}/bin/python", program)
    log = local.log(ended["run"])
    assert ended["state"] == "done", log
    assert "2 workers: sum of squares 20540" in log
    assert local.node_folders() == []


def test_an_image_of_a_registry_is_brought_once_as_one_file(local: Place) -> None:
    local.write(
        "show.py", 'import os; print("path", os.environ["PYTHONPATH"]); from voyageur import job; print(job.run)'
    )
    local.environment["APPTAINER_NOHTTPS"] = "true"
    with registry(rootfs.folder()) as (address, asked):
        words = ["-s", f"docker://{address}/lab/python:1", "--", "python3", "show.py"]
        local.write("voyageur.toml", f'[env]\nruntime = "{apptainer.program()}"\nimage = "docker://unused"\n')
        assert "is not here yet" in local.voy("plan", *words).stdout
        assert asked == []
        first = local.finish(*words)
        times = len(asked)
        second = local.finish(*words)
        assert len(asked) == times > 0
    assert (first["state"], second["state"]) == ("done", "done")
    assert "path /images/own:" in local.log(first["run"])
    store = local.scratch / "container-images"
    (image,) = store.glob("*.sif")
    assert image.name == hashlib.sha256(image.read_bytes()).hexdigest() + ".sif"
    assert sorted(path.name for path in store.iterdir()) == sorted([image.name, f"{_slug(address)}.sif.json"])
    plan = json.loads((local.folder(second["run"]) / "plan.json").read_text())
    assert plan["container"]["digest"] == f"sha256:{image.stem}"


def _slug(address: str) -> str:
    return f"{address.replace(':', '-')}-lab-python-1"
