"""What a user reads whose wish the site cannot grant. The texts stand in golden/."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.plan.wishes import CLUSTER, CODE, MACHINE, STRICT, gpu, plan, wish
from voyageur.errors import VoyageurError
from voyageur.plan import Identity, Surroundings, make_plan, slug_for
from voyageur.site import Partition, Policy, Queues, Request, Site
from voyageur.spec import Project, Spec

pytest_plugins = ["tests.golden"]
Golden = Callable[[str, str], None]

NO_PARTITION = Site(name="slurm", engine="slurm", title="the Slurm cluster test")
SLICED = tuple(replace(gpu(name, 1), slice=True) for name in ("a100_1g.5gb", "a100_2g.10gb"))
SLICES = Site(
    name="strict",
    engine="slurm",
    title="a strict cluster",
    request=Request(gpu_type=Policy.REQUIRED),
    queues=Queues(partitions=(Partition(name="main", default=True, gpus=SLICED),)),
)

WISHES: dict[str, tuple[Site, dict[str, Any]]] = {
    "gpu-unknown": (CLUSTER, {"gpus": 1, "gpu": "a10"}),
    "gpu-unknown-far-off": (CLUSTER, {"gpus": 1, "gpu": "tpu-v4"}),
    "gpu-on-this-machine": (MACHINE, {"gpus": 1}),
    "gpu-must-be-named": (SLICES, {"gpus": 1}),
    "time-over-the-limit-of-a-partition": (CLUSTER, {"time": "2d", "partition": "main"}),
    "nodes-too-many": (CLUSTER, {"nodes": 9}),
    "memory-too-much": (CLUSTER, {"memory": "1T"}),
    "partition-unknown": (CLUSTER, {"partition": "gpu"}),
    "partition-unknown-far-off": (CLUSTER, {"partition": "zebra"}),
    "partition-forbidden": (STRICT, {"partition": "main", "account": "x"}),
    "account-missing": (STRICT, {}),
    "no-partition-at-all": (NO_PARTITION, {}),
    "launch-unknown": (CLUSTER, {"launch__with": "per-nod"}),
    "launch-unknown-far-off": (CLUSTER, {"launch__with": "zebra"}),
    "launch-plain-on-many": (CLUSTER, {"launch__with": "plain", "nodes": 2}),
    "cpus-too-few-for-tasks": (CLUSTER, {"tasks": 4, "cpus": 2}),
    "memory-per-gpu-without-gpu": (CLUSTER, {"memory_per_gpu": "10G"}),
    "warning-too-early": (CLUSTER, {"time": "10m", "checkpoint__warn": "6m"}),
}


def error(site: Site, asked: dict[str, Any]) -> str:
    with pytest.raises(VoyageurError) as caught:
        plan(site, **asked)
    assert caught.value.exit_code == 2
    return caught.value.text()


@pytest.mark.parametrize("name", WISHES)
def test_a_wish_that_cannot_be_granted(golden: Golden, name: str) -> None:
    golden(f"{name}.txt", error(*WISHES[name]) + "\n")


@pytest.mark.parametrize(
    ("asked", "most"), [({"gpus": 8}, "--gpus 4"), ({"time": "30d"}, "--time 7d"), ({"cpus": 64}, "--cpus 24")]
)
def test_the_hint_is_about_the_partition_that_comes_closest(asked: dict[str, Any], most: str) -> None:
    """Partition `gpus` has four GPUs, seven days and 24 cores; what `main` lacks is of no use to the user."""
    text = error(CLUSTER, asked)
    assert "partition `gpus`" in text
    assert most in text


def test_no_command(golden: Golden) -> None:
    with pytest.raises(VoyageurError) as caught:
        slug_for(Spec(project=Project(root=Path("/p"), name="p")))
    golden("no-command.txt", caught.value.text() + "\n")


def test_more_tasks_than_a_node_has_cores_would_wait_for_ever() -> None:
    assert "16" in error(CLUSTER, {"tasks": 100, "partition": "main"})


def test_more_memory_per_gpu_than_a_node_has_would_wait_for_ever() -> None:
    assert "memory" in error(CLUSTER, {"gpus": 4, "memory_per_gpu": "1T"})


def test_a_scratch_folder_with_a_line_break(golden: Golden) -> None:
    with pytest.raises(VoyageurError) as caught:
        make_plan(wish(), CLUSTER, Surroundings(scratch="/a\nb"), Identity(slug="t", token="0" * 12), CODE)
    golden("scratch-two-lines.txt", caught.value.text() + "\n")


def test_a_scratch_folder_with_a_backslash(golden: Golden) -> None:
    with pytest.raises(VoyageurError) as caught:
        make_plan(wish(), CLUSTER, Surroundings(scratch="/a\\b"), Identity(slug="t", token="0" * 12), CODE)
    golden("scratch-backslash.txt", caught.value.text() + "\n")


def test_the_folder_of_a_user_who_is_not_there(golden: Golden) -> None:
    golden("venv-of-nobody.txt", error(CLUSTER, {"env__venv": "~nosuchuser/env"}) + "\n")
