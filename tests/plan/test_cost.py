"""What a job costs by the formulas of real sites, checked by hand against their published rules."""

from __future__ import annotations

from typing import Any

import pytest

from tests.plan.wishes import CLUSTER, MACHINE, plan
from voyageur.plan import Cost, decide_cost
from voyageur.site import Site, Unit, load_profile
from voyageur.site.profile import from_toml

NARVAL = load_profile("narval")


def site(text: str, **accounting: Any) -> Site:
    return from_toml("oak", f'title = "Oak"\n{text}')


def cost(site: Site, **asked: Any) -> Cost:
    found = plan(site, **asked).cost
    assert found is not None
    return found


def amount(site: Site, **asked: Any) -> tuple[float | None, str]:
    found = cost(site, **asked)
    return found.amount and round(found.amount, 6), found.unit.value


# ── Alliance: the largest of GPU, cores and memory, in bundles ───────────────────────────────────────────────────────


def test_four_a100_for_a_day_on_narval() -> None:
    found = cost(NARVAL, gpus=4, gpu="a100", time="24h")
    assert (found.amount, found.unit, found.at_least) == (4 * 4.0 * 24, Unit.RGU_HOURS, False)
    assert found.because == "if it takes all of its 1d: 4 GPUs at 4 each"
    assert (found.hours.nodes, found.hours.cores, found.hours.gpus) == (24, 4 * 12 * 24, 96)


def test_cores_or_memory_above_the_bundle_are_paid_as_more_gpus() -> None:
    """Narval's bundle is 12 cores and 124 GB for each A100."""
    cores = cost(NARVAL, gpus=1, gpu="a100", cpus=24, memory="100G", time="1h")
    assert (cores.amount, cores.because) == (
        8.0,
        "if it takes all of its 1h: 24 cores, the share of 2 GPUs at 4 each",
    )
    memory = cost(NARVAL, gpus=1, gpu="a100", cpus=12, memory="310G", time="1h")
    assert (memory.amount, memory.because) == (
        10.0,
        "if it takes all of its 1h: 310G of memory, the share of 2.5 GPUs at 4 each",
    )


def test_a_slice_of_a_gpu_costs_its_own_weight() -> None:
    assert amount(NARVAL, gpus=1, gpu="a100_1g.5gb", time="10h") == (5.7, "RGU-hours")


ALLIANCE = """
[accounting]
unit = "RGU-hours"
cpu_unit = "core-hours"
by = ["gpus", "cores", "memory"]
core_memory = "4G"
[queues.partitions.cpu]
default = true
cpus = 64
memory = "256000M"
[queues.partitions.gpu]
cpus = 48
gpus.a100 = { per_node = 4, cpus_each = 12, memory_each = "124G" }
"""


def test_cores_without_gpus_are_core_equivalents_of_four_gigabytes() -> None:
    assert amount(site(ALLIANCE), cpus=8, memory="16G", time="10h") == (80, "core-hours")
    found = cost(site(ALLIANCE), cpus=2, memory="64G", time="10h")
    assert (found.amount, found.because) == (
        160,
        "if it takes all of its 10h: 64G of memory, the share of 16 cores",
    )


def test_a_gpu_whose_weight_is_not_known_has_no_price() -> None:
    found = cost(site(ALLIANCE), gpus=2, time="3h")
    assert (found.amount, found.unit) == (None, Unit.RGU_HOURS)
    assert found.because == (
        "what this GPU counts for on oak is not known; it takes 3 node-hours, 72 core-hours, 6 GPU-hours"
    )


# ── LUMI: slices of 8 cores and 64 GB, half a GPU-hour for each die ──────────────────────────────────────────────────

LUMI = """
[accounting]
unit = "GPU-hours"
cpu_unit = "core-hours"
by = ["gpus", "cores", "memory"]
core_memory = "2G"
whole_slices = true
[queues.partitions.small-g]
default = true
cpus = 56
memory = "480G"
gpus.mi250x = { per_node = 8, cpus_each = 7, memory_each = "60G", bill_cpus = 8, bill_memory = "64G", weight = 0.5 }
[queues.partitions.standard-g]
cpus = 56
whole_node = true
gpus.mi250x = { per_node = 8, cpus_each = 7, memory_each = "60G", weight = 0.5 }
[queues.partitions.standard]
cpus = 128
whole_node = true
"""


@pytest.mark.parametrize(
    ("asked", "slices"),
    [
        ({"gpus": 1, "cpus": 7, "memory": "60G"}, 1),
        ({"gpus": 1, "cpus": 9, "memory": "60G"}, 2),
        ({"gpus": 1, "cpus": 7, "memory": "65G"}, 2),
        ({"gpus": 2, "cpus": 16, "memory": "200G"}, 4),
    ],
)
def test_a_started_slice_of_lumi_is_paid_whole(asked: dict[str, Any], slices: int) -> None:
    assert amount(site(LUMI), time="2h", **asked) == (slices * 0.5 * 2, "GPU-hours")


def test_whole_nodes_of_lumi_cost_four_gpu_hours_whatever_was_asked_for() -> None:
    assert amount(site(LUMI), partition="standard-g", gpus=8, nodes=2, time="3h") == (4 * 2 * 3, "GPU-hours")
    assert amount(site(LUMI), partition="standard-g", gpus=1, time="3h") == (12, "GPU-hours")
    assert amount(site(LUMI), partition="standard", cpus=1, time="12h", nodes=16) == (128 * 16 * 12, "core-hours")


# ── TACC: nodes, the queue's rate, a quarter of an hour at least ─────────────────────────────────────────────────────

TACC = """
[accounting]
unit = "SU"
by = ["nodes"]
minimum = "15m"
[queues.partitions.normal]
default = true
cpus = 128
whole_node = true
[queues.partitions.gpu-a100]
cpus = 128
whole_node = true
charge = 3
gpus.a100 = { per_node = 3 }
"""


def test_service_units_of_tacc() -> None:
    assert amount(site(TACC), nodes=4, time="10h") == (40, "SU")
    found = cost(site(TACC), nodes=2, gpus=3, time="4h")
    assert (found.amount, found.because) == (
        24,
        "if it takes all of its 4h: the whole node, on each of 2 nodes, times 3 in gpu-a100",
    )
    short = cost(site(TACC), time="5m")
    assert (short.amount, short.because) == (
        0.25,
        "if it takes all of its 5m: the whole node, and no less than 15m is charged",
    )


# ── NCSA Delta: the largest share, the partition's charge, one SU at least ───────────────────────────────────────────

DELTA = """
[accounting]
unit = "SU"
by = ["gpus", "cores", "memory"]
core_memory = "2G"
least = 1
[queues.partitions.cpu]
default = true
cpus = 128
[queues.partitions.gpuA100x4]
cpus = 64
gpus.a100 = { per_node = 4, cpus_each = 16, memory_each = "58G" }
[queues.partitions.gpuA40x4]
cpus = 64
charge = 0.5
gpus.a40 = { per_node = 4, cpus_each = 16, memory_each = "58G" }
"""


def test_service_units_of_delta() -> None:
    assert amount(site(DELTA), cpus=128, memory="240G", time="1h") == (128, "SU")
    assert amount(site(DELTA), cpus=1, memory="64G", time="2h") == (64, "SU")
    assert amount(site(DELTA), partition="gpuA100x4", gpus=1, cpus=32, memory="50G", time="3h") == (6, "SU")
    assert amount(site(DELTA), partition="gpuA40x4", gpus=4, time="5h") == (10, "SU")
    assert amount(site(DELTA), cpus=1, memory="1G", time="6m") == (1, "SU")


# ── CSCS, CINECA, NERSC, JSC ─────────────────────────────────────────────────────────────────────────────────────────


def test_node_hours_of_cscs() -> None:
    daint = site(
        '[accounting]\nunit = "node-hours"\nby = ["nodes"]\n[queues.partitions.normal]\ndefault = true\ncpus = 288\n'
        "whole_node = true\ngpus.gh200 = { per_node = 4 }\n"
    )
    assert amount(daint, nodes=3, gpus=4, time="8h") == (24, "node-hours")


LEONARDO = """
[accounting]
unit = "core-hours"
by = ["gpus", "cores", "memory"]
core_memory = "15800M"
[queues.partitions.boost_usr_prod]
default = true
cpus = 32
memory = "494000M"
gpus.a100 = { per_node = 4, cpus_each = 8, memory_each = "120G" }
"""


def test_core_hours_of_leonardo_are_the_largest_of_cores_gpus_and_memory() -> None:
    assert amount(site(LEONARDO), gpus=2, cpus=4, memory="10G", time="10h") == (160, "core-hours")
    assert amount(site(LEONARDO), gpus=1, cpus=20, memory="10G", time="10h") == (200, "core-hours")
    found = cost(site(LEONARDO), gpus=1, cpus=8, memory="316000M", time="10h")
    assert found.amount == pytest.approx(200) and "the share of 20 cores" in found.because


def test_a_part_of_a_node_of_perlmutter_costs_a_part_of_a_node_hour() -> None:
    shared = site(
        '[accounting]\nunit = "node-hours"\nby = ["gpus", "cores", "memory"]\n[queues.partitions.shared]\n'
        'default = true\ncpus = 128\nmemory = "256G"\n'
        'gpus.a100 = { per_node = 4, cpus_each = 32, memory_each = "64G" }\n'
    )
    assert amount(shared, gpus=1, time="4h") == (1, "node-hours")
    assert amount(shared, gpus=1, cpus=96, memory="64G", time="4h") == (3, "node-hours")


def test_whole_nodes_counted_in_cores() -> None:
    jupiter = site(
        '[accounting]\nunit = "core-hours"\nby = ["nodes"]\n[queues.partitions.booster]\ndefault = true\ncpus = 288\n'
        "whole_node = true\ngpus.gh200 = { per_node = 4 }\n"
    )
    assert amount(jupiter, gpus=4, nodes=2, time="1h") == (576, "core-hours")


# ── what is not known ────────────────────────────────────────────────────────────────────────────────────────────────


def test_where_nobody_says_how_it_is_counted_there_are_plain_hours_and_no_number() -> None:
    found = cost(CLUSTER, gpus=2, nodes=2, time="3h")
    assert (found.amount, found.unit) == (None, Unit.UNKNOWN)
    assert found.because == "how slurm counts is not known; it takes 6 node-hours, 72 core-hours, 12 GPU-hours"


def test_a_share_that_is_not_known_makes_the_cost_a_least_one() -> None:
    text = ALLIANCE.replace('core_memory = "4G"\n', "")
    found = cost(site(text), cpus=8, memory="16G", time="10h")
    assert (found.amount, found.at_least) == (80, True)
    assert found.because.endswith("and memory may cost more: how much is not known")


def test_this_machine_costs_nothing_worth_a_word() -> None:
    assert plan(MACHINE).cost is None


def test_a_chain_or_an_array_costs_its_attempts_together() -> None:
    made = plan(NARVAL, gpus=4, gpu="a100", time="24h")
    chain = decide_cost(made.shape, NARVAL, made.queue.place, repeats=5)
    assert chain and chain.amount == 5 * 384 and chain.because.endswith("4 GPUs at 4 each, 5 times")
    assert chain.hours.gpus == 480
    small = decide_cost(plan(site(DELTA), cpus=1, memory="1G", time="6m").shape, site(DELTA), "cpu", repeats=10)
    assert small and small.amount == 10, "the least charge is for each of them"


# ── with the package's own profiles ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("name", "asked", "expected"),
    [
        ("narval", {"gpus": 4, "time": "24h"}, (384, "RGU-hours")),
        ("narval", {"cpus": 8, "memory": "64G", "time": "2h"}, (32, "core-hours")),
        ("rorqual", {"gpus": 4, "nodes": 2, "time": "12h"}, (1171.2, "RGU-hours")),
        ("trillium", {"time": "2h"}, (384, "core-hours")),
        ("lumi", {"gpus": 1, "cpus": 9, "memory": "60G", "time": "2h"}, (2, "GPU-hours")),
        ("lumi", {"gpus": 8, "nodes": 2, "time": "3h", "partition": "standard-g"}, (24, "GPU-hours")),
        ("lonestar6", {"gpus": 3, "time": "4h", "nodes": 2}, (24, "SU")),
        ("lonestar6", {"time": "5m"}, (0.25, "SU")),
        ("delta", {"gpus": 1, "cpus": 32, "time": "3h"}, (6, "SU")),
        ("daint", {"gpus": 4, "nodes": 3, "time": "8h"}, (24, "node-hours")),
        ("leonardo", {"gpus": 2, "time": "10h"}, (160, "core-hours")),
        ("perlmutter", {"gpus": 4, "nodes": 2, "time": "3h"}, (6, "node-hours")),
        ("mila", {"gpus": 1, "time": "3h"}, (None, "unknown")),
        ("plai", {"gpus": 2, "time": "3h"}, (None, "unknown")),
    ],
)
def test_costs_on_known_clusters(name: str, asked: dict[str, Any], expected: tuple[float | None, str]) -> None:
    assert amount(load_profile(name), account="some-account", **asked) == expected
