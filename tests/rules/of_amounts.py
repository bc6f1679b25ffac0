"""Rules about GPUs, cores, memory, nodes and numbers of jobs."""

from __future__ import annotations

from msgspec.structs import replace

from tests.rules.cases import (
    Trial,
    a100,
    access,
    advised,
    asks,
    case,
    if_known,
    known,
    limits,
    network,
    of,
    on,
    request,
    runs,
    site,
    size,
    time,
    with_gpus,
    with_queue,
)
from voyageur.allowance import JobCount
from voyageur.rules import Case
from voyageur.site import Partition, Queues, Request, Site

NONE = asks()
GPUS = with_gpus(a100())
BY_MODEL = Request(source="Oak's manual: flags", gpu_flag="--gpus-per-node={type}{count}")
WHOLE = with_queue(whole_node=True, gpus=(a100(),))
FOURS = with_gpus(a100(counts=(1, 4), counts_multinode=(4,)))
FEW_LARGE = site(
    queues=Queues(
        source="Oak's manual: queues",
        partitions=(
            Partition(name="usual", default=True, nodes=1000, cpus=64, memory=size("256000M")),
            Partition(name="large", nodes=3, cpus=64, memory=size("4T")),
        ),
    )
)


def moved(judged: Case, where: Site) -> Case:
    """A plan that was made for another site: the planner itself would have refused the wish here."""
    return replace(judged, site=where)


def without_launcher(judged: Case) -> Case:
    return replace(judged, plan=replace(judged.plan, launch_words=()))


THREE_NODES = case(nodes=3)
TWO_GPUS = case(GPUS, gpus=2)
AN_A100 = case(GPUS, gpus=1, gpu="a100")

TRIALS = [
    # ── what a node has
    Trial("gpu-name", "unknown", moved(AN_A100, with_gpus(a100(name="h100"))), AN_A100),
    on(
        with_gpus(a100(), a100(name="h100"), request=BY_MODEL),
        "gpu-untyped",
        "any model",
        asks(gpus=1),
        asks(gpus=1, gpu="h100"),
    ),
    Trial(
        "gpu-count",
        "of several nodes",
        moved(case(GPUS, gpus=1, nodes=4), FOURS),
        case(FOURS, gpus=4, nodes=2),
    ),
    Trial("gpu-count", "of a job", moved(TWO_GPUS, with_gpus(a100(per_job=1))), TWO_GPUS),
    on(GPUS, "cpus-bundle", "more than come with it", asks(gpus=1, cpus=20), asks(gpus=2, cpus=20)),
    on(GPUS, "memory-bundle", "more than comes with it", asks(gpus=1, memory="100G"), asks(gpus=2, memory="100G")),
    Trial(
        "memory-usable",
        "more than there is",
        moved(case(memory="60000M"), with_queue(memory=size("32000M"))),
        case(memory="60000M"),
    ),
    on(FEW_LARGE, "memory-usable", "a little more than most have", asks(memory="256G"), asks(memory="250G")),
    Trial("cpus-usable", "more than jobs may", moved(case(cpus=16), with_queue(cpus=14)), case(cpus=16)),
    on(request(default_memory_per_cpu=size("256M")), "memory-default", "small", asks(without=["--mem"]), NONE),
    on(WHOLE, "whole-node", "one GPU", asks(gpus=1), asks(gpus=4)),
    on(WHOLE, "whole-node", "few cores", asks(cpus=4), NONE),
    # ── several nodes
    Trial("several-nodes", "the first alone", without_launcher(THREE_NODES), THREE_NODES),
    on(
        network(variables={"NCCL_SOCKET_IFNAME": "ib0"}),
        "several-nodes",
        "another network",
        asks(nodes=2, env__variables={"NCCL_SOCKET_IFNAME": "eth0"}),
        asks(nodes=2),
    ),
    # ── numbers of jobs
    on(
        limits(submitted=1000),
        "job-limit",
        "of the site",
        asks(known=known(jobs=JobCount(submitted=1000, running=3))),
        asks(known=known(jobs=JobCount(submitted=999, running=3))),
    ),
    on(limits(array=10), "job-limit", "of an array", asks(flags=["--array=0-10"]), asks(flags=["--array=1-10"])),
    on(
        with_queue(submitted=3),
        "job-limit",
        "of the queue",
        asks(flags=["--array=1-7:2"]),
        asks(flags=["--array=1,3,5%2"]),
    ),
    if_known(NONE, "many-submits", "a loop", known(submitted_lately=40), known(submitted_lately=10)),
    on(
        site(),
        "short-tasks",
        "an array",
        asks(flags=["--array=1-100"], time="5m"),
        asks(flags=["--array=1-100"], time="2h"),
    ),
    on(site(), "polling", "watched", runs("watch", "squeue", "-u", "ada"), runs("python", "watch.py")),
    on(
        site(),
        "polling",
        "statistics",
        runs("bash", "-c", "partition-stats | mail ada"),
        runs("bash", "-c", "squeue --me"),
    ),
    advised("polling", "told", limits(poll_pause=time("1m"))),
    if_known(NONE, "unanswered", "an answer was lost", known(unanswered=("train-4d1b",)), known()),
    of(
        runs("bash", "-c", "./a && sbatch next.sh"),
        "resubmit-from-job",
        "sbatch",
        limits(sbatch_in_jobs=False),
        limits(sbatch_in_jobs=True),
    ),
    advised("connections", "told", access(reuse=True, factors=("Duo",))),
]
