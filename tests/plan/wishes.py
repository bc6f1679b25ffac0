"""Wishes and sites to make plans of."""

from pathlib import Path, PurePosixPath
from typing import Any

from voyageur.plan import FrozenCode, Identity, Plan, Surroundings, make_plan
from voyageur.site import Gpu, Partition, Policy, Queues, Request, Site
from voyageur.spec import Given, Spec, read_spec
from voyageur.units import Duration, Size

CODE = FrozenCode(archive=PurePosixPath("/scratch/p/code/c0de.tar"), checksum="c0de", files=3, size=Size(3000))


def gpu(name: str, per_node: int, cpus_each: int = 6, memory_each: str = "32G") -> Gpu:
    return Gpu(name=name, per_node=per_node, cpus_each=cpus_each, memory_each=Size.parse(memory_each))


CLUSTER = Site(
    name="slurm",
    engine="slurm",
    title="the Slurm cluster test",
    queues=Queues(
        partitions=(
            Partition(
                name="main",
                default=True,
                time_limit=Duration.parse("1d"),
                nodes=8,
                cpus=16,
                memory=Size.parse("64000M"),
            ),
            Partition(
                name="gpus",
                time_limit=Duration.parse("7d"),
                nodes=4,
                cpus=24,
                memory=Size.parse("256G"),
                gpus=(gpu("a100", 4),),
            ),
        ),
    ),
)
STRICT = Site(
    name="strict",
    engine="slurm",
    title="a strict cluster",
    queues=CLUSTER.queues,
    request=Request(
        partition=Policy.FORBIDDEN,
        account=Policy.REQUIRED,
        gpu_type=Policy.REQUIRED,
        gpu_flag="--gpus-per-node={type}{count}",
    ),
)
MACHINE = Site(
    name="local",
    engine="local",
    title="this machine",
    queues=Queues(partitions=(Partition(name="local", default=True, cpus=4, memory=Size.parse("16G")),)),
)


def wish(**asked: Any) -> Spec:
    """wish(nodes=2, site="x"): keys of [resources] by their last word, all others by their whole name."""
    resources = {"nodes", "gpus", "gpu", "tasks", "cpus", "memory", "memory_per_gpu", "disk", "time"}
    flags = {"command": Given(("python", "train.py"), "the command line")}
    for name, value in asked.items():
        key = f"resources.{name}" if name in resources else name.replace("__", ".")
        flags[key] = Given(value, f"--{name}")
    return read_spec(folder=Path("/projects/weather"), flags=flags, environment={})


def plan(site: Site = CLUSTER, **asked: Any) -> Plan:
    spec = wish(**asked)
    around = Surroundings(scratch="/scratch")
    return make_plan(spec, site, around, Identity(slug="train", token="0123456789ab"), CODE)
