"""Modules in the batch shell of a real Slurm, by a real Lmod and by real Environment Modules."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.env.wheels import make_wheel
from tests.module_stacks import KINDS, write_profile
from tests.place import Place

SAY = """
import os, sys
import alpha
path = os.environ["PATH"].split(":")
print("loaded", os.environ["LOADEDMODULES"], "of login", os.environ.get("OF_LOGIN"), "of stack", os.environ["STACK"])
print("environment before module", path.index(sys.prefix + "/bin") < path.index(os.environ["APPS"]))
print("stands on", os.path.realpath(sys.executable) == os.path.realpath(os.environ["APPS"] + "/python3"))
"""


@pytest.fixture(params=KINDS)
def cluster(simple: Place, request: pytest.FixtureRequest) -> Place:
    """The stack opens the way to the Python, as on the Alliance's clusters; login loads something of its own."""
    apps, core, inner = simple.root / "apps", simple.root / "core", simple.root / "inner"
    for folder in (apps, core / "stack", core / "greeting", inner / "python"):
        folder.mkdir(parents=True)
    (apps / "python3").symlink_to(Path(sys.base_prefix) / "bin" / "python3")
    module(core / "stack" / "2023", f"prepend-path MODULEPATH {inner}", "setenv STACK 2023")
    module(core / "greeting" / "1.0", "setenv OF_LOGIN yes")
    module(inner / "python" / "3.x", f"prepend-path PATH {apps}", f"setenv APPS {apps}")
    write_profile(request.param, simple.home, core, "module load greeting", "echo Welcome to the cluster")
    make_wheel(simple.project / "wheels", "alpha")
    simple.write("requirements.txt", "--no-index\n--find-links wheels\nalpha\n")
    simple.write("say.py", SAY)
    simple.environment.pop("VIRTUAL_ENV", None)
    return simple


def module(path: Path, *lines: str) -> None:
    path.write_text("".join(f"{line}\n" for line in ("#%Module", *lines)))


def wants(place: Place, *modules: str) -> None:
    place.write("voyageur.toml", f'[env]\nrequirements = ["requirements.txt"]\nmodules = {json.dumps(modules)}\n')


def test_modules_come_before_the_environment_and_alone(cluster: Place) -> None:
    wants(cluster, "stack/2023", "python/3.x")
    cluster.voy("env", "lock")
    run = cluster.submit("-n", "2", "--", "python", "say.py")
    assert cluster.wait(run)["state"] == "done", cluster.log(run)
    log = cluster.log(run)
    assert log.count("loaded stack/2023:python/3.x of login None of stack 2023") == 2
    assert log.count("environment before module True") == 2
    assert log.count("stands on True") == 2


def test_what_is_not_there_is_named_before_the_submit(cluster: Place) -> None:
    wants(cluster, "stack/2023", "python/3.x", "cuda/99")
    answer = cluster.voy("env", "lock", code=2)
    assert "error: the module cuda/99 could not be loaded" in answer.stderr
    cluster.write("voyageur.toml", '[env]\nmodules = ["python/3.x", "stack/2023"]\n')
    answer = cluster.voy("submit", "--", "true", code=2)
    assert "error: slurm has no module python/3.x" in answer.stderr
    assert "hint: `module spider python` lists the versions there are" in answer.stderr
    assert not list(cluster.scratch.glob("*/hpc_outputs/*/run.json"))


def test_what_cannot_be_loaded_is_the_reason(cluster: Place) -> None:
    """A node may lack what a login node has."""
    cluster.write("voyageur.toml", '[env]\nmodules = ["stack/2023", "cuda/99"]\n')
    ended = cluster.finish("--ignore", "modules", "--", "true")
    assert ended["state"] == "failed"
    assert ended["because"].startswith("these modules could not be loaded: stack/2023 cuda/99")
