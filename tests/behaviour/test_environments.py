"""The environment that a run has, on every node of every engine, and without the network."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.env.wheels import make_wheel
from tests.launchers.environments import built_or_skipped
from tests.place import Place
from tests.runtime.datasets import flip_byte

EXAMPLE = Path(__file__).parents[2] / "examples" / "environment"
ALONE = """
import os, socket, numpy

node = os.environ["SLURMD_NODENAME"]
for host in ("1.1.1.1", "example.org"):
    try:
        socket.create_connection((host, 443), 3).close()
        print(node, "reaches", host, flush=True)
    except OSError:
        print(node, "with numpy", numpy.__version__, "cannot reach", host, flush=True)
"""
SAY = """
import os, shutil, subprocess, sys
import alpha
subprocess.run(["say-alpha"], check=True)
where = "in it" if alpha.__file__.startswith(sys.prefix + "/") else "elsewhere"
print(os.environ["SLURMD_NODENAME"], "alpha is", where, sys.prefix == os.environ["VIRTUAL_ENV"], flush=True)
"""
ALPHA = "import beta\ndef main():\n    print('alpha with beta', beta.__version__, flush=True)\n"


def project(place: Place, **keys: str) -> None:
    wheels = place.project / "wheels"
    make_wheel(wheels, "alpha", "1.0", requires=["beta>=2"], code=ALPHA, scripts={"say-alpha": "alpha:main"})
    make_wheel(wheels, "beta", "2.0")
    place.write("requirements.txt", "--no-index\n--find-links wheels\nalpha\n")
    lines = [f"{name} = {json.dumps(value)}" for name, value in keys.items()]
    place.write("voyageur.toml", "\n".join(["[env]", 'requirements = ["requirements.txt"]', *lines, ""]))
    place.write("say.py", SAY)
    place.environment.pop("VIRTUAL_ENV", None)


@pytest.mark.parametrize("form", ["squashfs", "tar"])
def test_it_is_on_every_node_and_its_programs_work(place: Place, form: str) -> None:
    project(place, form=form)
    place.voy("env", "lock")
    place.voy("env", "build")
    shutil.rmtree(place.project / "wheels")
    run = place.submit("-n", "2", "--", "python", "say.py")
    assert place.wait(run)["state"] == "done", place.log(run)
    log = place.log(run)
    assert log.count("alpha with beta 2.0") == 2 and log.count("alpha is in it True") == 2
    plan = json.loads((place.folder(run) / "plan.json").read_text())
    assert plan["environment"]["packages"] == ["alpha==1.0", "beta==2.0"] and plan["activate"]["value"] is None
    assert "environment: whole on 2 nodes" in place.voy("status", run).stdout
    assert place.node_folders() == []


def test_it_can_be_made_on_every_node(place: Place) -> None:
    project(place, build="in-job", wheels="wheels")
    run = place.submit("-n", "2", "--tasks", "2", "--", "python", "say.py")
    assert place.wait(run)["state"] == "done", place.log(run)
    log = place.log(run)
    assert log.count("the environment was made on this node in") == 2
    assert log.count("alpha with beta 2.0") == 4 and log.count("alpha is in it True") == 4
    assert place.node_folders() == []


def test_what_starts_the_ranks_cannot_come_with_it(local: Place) -> None:
    project(local)
    make_wheel(local.project / "wheels", "alpha", "1.0", scripts={"mpirun": "alpha:main"})
    local.voy("env", "build")
    answer = local.voy("plan", "-W", "mpi", "--", "python", "say.py", code=2)
    assert "error: mpirun lies in the environment, which comes to the nodes only with the ranks" in answer.stderr


def test_each_node_makes_what_a_lock_says(local: Place) -> None:
    """pip reads no pyproject.toml; a lock it does, and a wheel that came later is none of its."""
    project(local, build="in-job")
    local.write("pyproject.toml", '[project]\nname = "x"\ndependencies = ["alpha"]\n')
    local.write("voyageur.toml", '[env]\nrequirements = ["pyproject.toml"]\nbuild = "in-job"\n')
    local.environment |= {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(local.project / "wheels")}
    first = local.voy("run", "--", "python", "say.py")
    assert "pyproject.toml has no lock yet: voyageur.lock is written" in first.stderr
    assert "it is made now" not in first.stderr
    assert "alpha with beta 2.0" in first.stdout and "alpha is in it True" in first.stdout
    make_wheel(local.project / "wheels", "beta", "3.0")
    assert "alpha with beta 2.0" in local.voy("run", "--", "python", "say.py").stdout
    make_wheel(local.project / "wheels", "beta", "2.0", code="__version__ = 'changed'\n")
    answer = local.voy("run", "--", "python", "say.py", code=1)
    assert "beta==2.0 from file://" in answer.stderr and "is not the file that was locked" in answer.stderr


def test_a_damaged_one_ends_the_run_with_the_next_step(local: Place) -> None:
    project(local)
    local.voy("env", "lock")
    local.voy("env", "build")
    archive = Path(json.loads(local.voy("plan", "--json", "--", "python", "say.py").stdout)["environment"]["archive"])
    flip_byte(archive, archive.stat().st_size // 2)
    ended = local.finish("--", "python", "say.py")
    assert ended["state"] == "failed" and "alpha" not in local.log(ended["run"])
    assert "the environment on local1" in ended["because"] and "`voy env build --again`" in ended["because"]
    local.voy("env", "build", "--again")
    assert local.finish("--", "python", "say.py")["state"] == "done"


def test_the_example_runs_from_its_lock_on_nodes_without_a_network(production: Place) -> None:
    """Each node of this kind has a network of its own, which ends at the other nodes."""
    shutil.copytree(EXAMPLE, production.project, dirs_exist_ok=True)
    production.environment.pop("VIRTUAL_ENV", None)
    built = built_or_skipped(production)
    ended = production.finish()
    assert ended["state"] == "done", production.log(ended["run"])
    assert production.log(ended["run"]).count("from the run's environment: y = 3.00 x -1.00") == 2
    production.write("alone.py", ALONE)
    log = production.log(production.finish("--", "python", "alone.py")["run"])
    assert log.count(f"with {built['packages'][0].replace('==', ' ')} cannot reach") == 4, log
