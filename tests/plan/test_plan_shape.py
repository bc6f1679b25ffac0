"""Nodes, tasks, CPUs, memory, GPUs and time, in the right relation to each other."""

from typing import Any

import pytest
from msgspec.structs import replace

from tests.plan.wishes import CLUSTER, CODE, MACHINE, STRICT, gpu, plan, wish
from voyageur.plan import Identity, Plan, Surroundings, make_plan
from voyageur.site import Partition, Queues, load_profile
from voyageur.units import Duration, Size


def amounts(made: Plan) -> tuple[int, int, int, int]:
    """nodes, tasks a node, CPUs a task, GPUs a node"""
    shape = made.shape
    return (shape.nodes.value, shape.tasks_per_node.value, shape.cpus_per_task.value, shape.gpus.value)


def flags(made: Plan) -> list[str]:
    return [directive.flag for directive in made.directives]


@pytest.mark.parametrize(
    ("asked", "launch", "expected"),
    [
        ({}, "plain", (1, 1, 1, 0)),
        ({"cpus": 4}, "plain", (1, 1, 4, 0)),
        ({"gpus": 2}, "plain", (1, 1, 12, 2)),
        ({"gpus": 2, "cpus": 4}, "plain", (1, 1, 4, 2)),
        ({"gpu": "a100"}, "plain", (1, 1, 6, 1)),
        ({"gpu": "a100", "gpus": 0}, "plain", (1, 1, 1, 0)),
        ({"nodes": 2}, "per-node", (2, 1, 1, 0)),
        ({"nodes": 2, "gpus": 4}, "per-node", (2, 1, 24, 4)),
        ({"nodes": 1, "gpus": 4, "launch__with": "per-node"}, "per-node", (1, 1, 24, 4)),
        ({"gpus": 4, "launch__with": "per-rank"}, "per-rank", (1, 4, 6, 4)),
        ({"nodes": 2, "gpus": 4, "launch__with": "per-rank"}, "per-rank", (2, 4, 6, 4)),
        ({"nodes": 2, "launch__with": "per-rank"}, "per-rank", (2, 1, 1, 0)),
        ({"tasks": 4}, "per-rank", (1, 4, 1, 0)),
        ({"tasks": 4, "cpus": 16}, "per-rank", (1, 4, 4, 0)),
        ({"tasks": 2, "gpus": 4}, "per-rank", (1, 2, 12, 4)),
    ],
)
def test_amounts_follow_from_the_wish_and_the_launch_style(
    asked: dict[str, Any], launch: str, expected: tuple[int, int, int, int]
) -> None:
    made = plan(**asked)
    assert made.launch.value == launch
    assert amounts(made) == expected


@pytest.mark.parametrize(
    ("asked", "memory"),
    [
        ({"memory": "10G"}, "10G"),
        ({"cpus": 8}, "32000M"),
        ({}, "4000M"),
        ({"gpus": 2}, "64G"),
        ({"gpus": 2, "memory_per_gpu": "10G"}, "20G"),
        ({"gpus": 2, "memory": "1G", "memory_per_gpu": "10G"}, "1G"),
    ],
)
def test_memory_is_what_was_asked_or_a_fair_share(asked: dict[str, Any], memory: str) -> None:
    assert plan(**asked).shape.memory.value == Size.parse(memory)


def test_every_decision_has_a_reason() -> None:
    made = plan(nodes=2, gpus=4, time="3h", account="def-x")
    for name in made.shape.__struct_fields__:
        assert getattr(made.shape, name).because, name
    assert all(directive.because for directive in made.directives)
    assert made.shape.nodes.because == "asked for by --nodes"
    assert made.shape.cpus_per_task.because == "slurm: 6 cores for each GPU"
    assert made.account.because == "asked for by --account"


def test_the_partition_is_the_default_one_or_the_first_that_fits() -> None:
    assert "--partition=main" in flags(plan())
    assert "--partition=gpus" in flags(plan(gpus=1))
    assert "--partition=gpus" in flags(plan(time="3d"))
    assert "--partition=gpus" in flags(plan(partition="gpus"))


def test_a_site_that_routes_jobs_itself_is_told_no_partition() -> None:
    assert not [flag for flag in flags(plan(STRICT, account="def-x")) if flag.startswith("--partition")]


def test_a_site_that_wants_the_model_gets_the_only_one_there_is() -> None:
    assert "--gpus-per-node=a100:2" in flags(plan(STRICT, gpus=2, account="def-x"))


def test_gpus_are_asked_for_per_node() -> None:
    assert "--gres=gpu:a100:4" in flags(plan(nodes=2, gpus=4, gpu="a100"))


def test_gpus_of_any_kind_are_taken_where_there_are_enough() -> None:
    """A node has four a100 or eight v100: eight of any kind are v100."""
    main = CLUSTER.partitions[0]
    mixed = replace(
        CLUSTER, queues=Queues(partitions=(replace(main, gpus=(gpu("a100", 4), gpu("v100", 8, cpus_each=2))),))
    )
    asked = [flag for flag in flags(plan(mixed, gpus=8)) if "gpu" in flag]
    assert asked in (["--gres=gpu:v100:8"], ["--gres=gpu:8"])


def test_on_this_machine_nodes_and_time_are_free() -> None:
    made = plan(MACHINE, nodes=3, time="30d")
    assert (made.shape.nodes.value, made.queue.partition.value) == (3, None)


def test_on_this_machine_the_name_of_a_clusters_gpu_or_partition_means_nothing() -> None:
    assert amounts(plan(MACHINE, gpu="a100", partition="main")) == (1, 1, 1, 0)


def test_narval() -> None:
    made = plan(load_profile("narval"), gpus=2, account="def-prof", time="3d")
    assert amounts(made) == (1, 1, 24, 2)
    assert made.shape.memory.value == Size.parse("248G")
    assert made.modules.value == ("StdEnv/2023",)


def test_what_is_not_known_of_a_partition_is_no_obstacle() -> None:
    vague = replace(CLUSTER, queues=Queues(partitions=(Partition(name="vague", default=True),)))
    made = plan(vague, nodes=1000, cpus=1000, time="365d", memory="10T")
    assert amounts(made) == (1000, 1, 1000, 0)
    assert plan(vague).shape.memory.value is None


def test_a_warning_comes_before_the_end_and_leaves_time_to_work() -> None:
    assert "--signal=B:USR1@120" in flags(plan(time="3h"))
    assert "--signal=B:USR1@15" in flags(plan(time="1m"))
    assert "--signal=B:USR1@600" in flags(plan(time="3h", checkpoint__warn="10m"))


def test_requeue_unless_told_otherwise() -> None:
    assert "--requeue" in flags(plan())
    assert "--no-requeue" in flags(plan(requeue="no"))


def test_the_names_of_folders_follow_the_project_and_the_experiment() -> None:
    folders = plan(experiment="baseline").folders
    assert str(folders.run) == "/scratch/weather/hpc_outputs/train-0123"
    assert str(folders.checkpoints) == "/scratch/weather/baseline/checkpoints"


def test_a_percent_sign_in_a_path_is_no_pattern_for_slurm() -> None:
    assert "--output=/s%%j/weather/hpc_outputs/train-0123/output.log" in flags(plan_on_scratch("/s%j"))


def plan_on_scratch(scratch: str) -> Plan:

    return make_plan(wish(), CLUSTER, Surroundings(scratch=scratch), Identity(slug="train", token="0123456789ab"), CODE)


def test_the_time_limit_in_the_job_is_the_one_that_slurm_counts() -> None:
    variables = {export.name: export.value for export in plan(time="90s").exports}
    assert variables["VOY_TIME_LIMIT"] == "120"
    assert Duration.parse("90s").slurm() == "0-00:02:00"
