"""One wish on every cluster that has a profile: what sbatch is told, and what the job sets up, as golden files."""

from collections.abc import Callable

import pytest

from tests.script.test_scripts import TRAIN, plan
from voyageur.errors import SiteError
from voyageur.plan import Plan
from voyageur.script import render
from voyageur.site import Status, load_profile, profile_names

pytest_plugins = ["tests.golden"]
Golden = Callable[[str, str], None]

# What the wish below has to be where the usual one cannot be had: GPUs a node.
GPUS = {"vista": 1, "lonestar6": 3, "trillium": 0, "eiger": 0, "galileo100": 0, "magic-castle": 1}
# Where scripts may differ from site to site, and what is the same in all of them; test_scripts.py has whole ones.
DIFFER = ("#SBATCH", "export ", "modules=", "module ", "exec ")
EVERYWHERE = tuple(f"#SBATCH --{flag}" for flag in ("job-name", "chdir", "output", "open-mode", "signal", "requeue"))
EVERYWHERE += tuple(
    f"export {name}"
    for name in (
        "VOY_R",
        "VOY_TOKEN",
        "VOY_S",
        "VOY_C",
        "VOY_TIME",
        "VOY_W",
        "VOY_G",
        "project_name",
        "exp_name",
        "scratch_dir",
        "PYTHONUNBUFFERED",
    )
)
SITES = [name for name in profile_names() if load_profile(name).status is Status.PRODUCTION]
RETIRED = [name for name in profile_names() if load_profile(name).status is Status.RETIRED]


def planned(name: str) -> Plan:
    flags = {
        "command": TRAIN,
        "resources.nodes": 2,
        "resources.gpus": GPUS.get(name, 4),
        "resources.time": "3h",
        "account": load_profile(name).request.account_example or "prof",
    }
    return plan(load_profile(name), flags)


@pytest.mark.parametrize("name", SITES)
def test_two_nodes_with_gpus(golden: Golden, name: str) -> None:
    lines = render(planned(name)).splitlines()
    own = [line for line in lines if line.startswith(DIFFER) and not line.startswith(EVERYWHERE)]
    golden(f"sites/{name}.sh", "\n".join(own) + "\n")


@pytest.mark.parametrize("name", RETIRED)
def test_a_cluster_that_is_gone_gets_no_script(name: str) -> None:
    with pytest.raises(SiteError) as caught:
        planned(name)
    successor = load_profile(name).successor
    assert f"error: {name} is no more" in caught.value.text()
    assert f"`--on {successor}`" in caught.value.text()
    assert successor in SITES
