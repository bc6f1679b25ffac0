"""What a user of Alps, CINECA, JSC, NERSC, TACC, LUMI or Delta would be hurt by, were it wrong in its profile."""

from __future__ import annotations

import functools

import pytest

from voyageur.site import (
    Gpu,
    Medium,
    Partition,
    Policy,
    Purpose,
    Reach,
    Site,
    Status,
    Unit,
    Use,
    Welcome,
    load_profile,
)
from voyageur.units import Duration, Size

GH200 = ["clariden", "daint", "santis"]
ALPS = ["clariden", "daint", "eiger", "santis"]
CINECA = ["galileo100", "leonardo"]
JSC = ["jupiter", "juwels-booster"]
TACC = ["frontera", "lonestar6", "vista"]
ALL = [*ALPS, "piz-daint", *CINECA, *JSC, *TACC, "delta", "lumi", "perlmutter"]


@functools.cache
def site(name: str) -> Site:
    return load_profile(name)


def partition(name: str, queue: str) -> Partition:
    return next(found for found in site(name).partitions if found.name == queue)


def gpu(name: str, queue: str) -> Gpu:
    (found,) = partition(name, queue).gpus
    return found


# ── how to get in ────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("name", "login", "jump"),
    [
        ("daint", "daint.alps.cscs.ch", "ela.cscs.ch"),
        ("clariden", "clariden.alps.cscs.ch", "ela.cscs.ch"),
        ("eiger", "eiger.alps.cscs.ch", "ela.cscs.ch"),
        ("santis", "santis.alps.cscs.ch", "ela.cscs.ch"),
        ("piz-daint", "daint.cscs.ch", "ela.cscs.ch"),
        ("leonardo", "login.leonardo.cineca.it", None),
        ("galileo100", "login.g100.cineca.it", None),
        ("perlmutter", "perlmutter.nersc.gov", None),
        ("vista", "vista.tacc.utexas.edu", None),
        ("lonestar6", "ls6.tacc.utexas.edu", None),
        ("frontera", "frontera.tacc.utexas.edu", None),
        ("juwels-booster", "juwels-booster.fz-juelich.de", None),
        ("jupiter", "login.jupiter.fz-juelich.de", None),
        ("lumi", "lumi.csc.fi", None),
        ("delta", "login.delta.ncsa.illinois.edu", None),
    ],
)
def test_the_door(name: str, login: str, jump: str | None) -> None:
    assert (site(name).access.login, site(name).access.jump) == ((login,), jump)


@pytest.mark.parametrize(
    ("names", "session", "renew"),
    [
        (ALPS, Duration.parse("1d"), "cscs-key sign"),
        (CINECA, Duration.parse("12h"), "step ssh login 'EMAIL' --provisioner cineca-hpc"),
        (["perlmutter"], None, "sshproxy.sh -u USER"),
        (TACC, None, None),
    ],
)
def test_certificates_end_and_the_command_that_gets_a_new_one(
    names: list[str], session: Duration | None, renew: str | None
) -> None:
    for name in names:
        assert (site(name).access.session, site(name).access.renew) == (session, renew)


@pytest.mark.parametrize("name", [*ALPS, *CINECA, "delta"])
def test_where_a_key_alone_does_not_open_the_door(name: str) -> None:
    assert site(name).access.keys is False


@pytest.mark.parametrize("name", JSC)
def test_jsc_blocks_those_who_connect_too_often(name: str) -> None:
    assert site(name).access.reuse
    assert any("blocked" in wish for wish in site(name).conduct.requests)
    assert "from=" in (site(name).access.only_from or "")


@pytest.mark.parametrize(
    ("name", "host"),
    [
        ("leonardo", "data.leonardo.cineca.it"),
        ("galileo100", "data.g100.cineca.it"),
        ("juwels-booster", "judac.fz-juelich.de"),
        ("perlmutter", "dtn01.nersc.gov"),
    ],
)
def test_large_files_have_a_door_of_their_own(name: str, host: str) -> None:
    assert host in site(name).access.transfer


# ── what to ask for ──────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("names", "account", "flag", "where"),
    [
        (GH200, Policy.OPTIONAL, "", Policy.OPTIONAL),
        (TACC, Policy.CONDITIONAL, "", Policy.REQUIRED),
        (CINECA, Policy.REQUIRED, "--gres=gpu:{count}", Policy.REQUIRED),
        (JSC, Policy.REQUIRED, "--gres=gpu:{count}", Policy.OPTIONAL),
        (["perlmutter"], Policy.REQUIRED, "--gpus-per-node={count}", Policy.FORBIDDEN),
        (["lumi"], Policy.REQUIRED, "--gpus-per-node={count}", Policy.REQUIRED),
        (["delta"], Policy.REQUIRED, "--gpus-per-node={count}", Policy.REQUIRED),
        (["piz-daint"], Policy.REQUIRED, "", Policy.OPTIONAL),
    ],
)
def test_account_gpus_and_partition_as_sbatch_wants_them(
    names: list[str], account: Policy, flag: str, where: Policy
) -> None:
    for name in names:
        request = site(name).request
        assert (request.account, request.gpu_flag, request.partition) == (account, flag, where)


@pytest.mark.parametrize("name", TACC)
def test_tacc_rejects_what_others_want(name: str) -> None:
    request = site(name).request
    assert {"--mem", "--gres", "--gpus-per-task"} <= set(request.forbidden)
    assert (request.memory, request.nodelist, request.export) == (Policy.FORBIDDEN,) * 3
    assert (request.time, request.launcher) == (Policy.REQUIRED, "ibrun")


def test_only_clariden_refuses_all_memory() -> None:
    assert site("clariden").request.forbidden == ("--mem=0",)
    assert site("daint").request.forbidden == ()


@pytest.mark.parametrize("name", GH200)
def test_a_rank_on_alps_sees_its_own_gpu_only_when_asked(name: str) -> None:
    assert site(name).request.gpu_flag_per_rank == "--gpus-per-task=1"


@pytest.mark.parametrize(
    ("name", "trap"), [("leonardo", "lrd_all_serial"), ("galileo100", "g100_all_serial"), ("perlmutter", "debug")]
)
def test_the_default_of_slurm_that_is_a_trap(name: str, trap: str) -> None:
    assert site(name).queues.trap == trap
    production = [found for found in site(name).partitions if found.purpose is Purpose.PRODUCTION]
    assert trap not in {word for found in production for word in (found.name, found.flag, found.qos)}


def test_perlmutter_takes_no_memory_and_always_a_constraint_and_a_qos() -> None:
    request = site("perlmutter").request
    assert (request.memory, request.constraint, request.qos) == (Policy.FORBIDDEN, Policy.REQUIRED, Policy.REQUIRED)
    assert all(found.qos and found.constraint for found in site("perlmutter").partitions)
    large = partition("perlmutter", "regular, GPU nodes with 80 GB")
    assert (large.constraint, large.qos, large.gpus[0].own_memory) == ("gpu&hbm80g", "regular", Size.parse("80G"))


def test_piz_daint_is_gone_and_says_where_to() -> None:
    gone = site("piz-daint")
    assert (gone.status, gone.successor) == (Status.RETIRED, "daint")
    assert {found.constraint for found in gone.partitions} == {"gpu", "mc"}
    assert gone.storage.refuses_over_quota
    assert not gone.software.purge


# ── queues ───────────────────────────────────────────────────────────────────────────────────────────────────────────

# site, entry, what --partition and --qos get, time, least and most nodes, running, submitted
LIMITS = [
    ("daint", "normal", None, None, "24h", None, None, None, None),
    ("daint", "debug", None, None, "30m", None, 2, None, None),
    ("clariden", "normal", None, None, "12h", None, None, None, None),
    ("clariden", "debug", None, None, "90m", None, 4, 1, 2),
    ("eiger", "prepost", None, None, "30m", None, 1, None, None),
    ("santis", "debug", None, None, "30m", None, 2, None, None),
    ("leonardo", "boost_usr_prod", None, None, "24h", None, 64, None, None),
    ("leonardo", "boost_qos_dbg", "boost_usr_prod", "boost_qos_dbg", "30m", None, 2, None, None),
    ("leonardo", "boost_qos_bprod", "boost_usr_prod", "boost_qos_bprod", "24h", 65, 256, None, None),
    ("leonardo", "boost_qos_lprod", "boost_usr_prod", "boost_qos_lprod", "4d", None, 8, None, None),
    ("leonardo", "dcgp_usr_prod", None, None, "24h", None, 16, None, None),
    ("leonardo", "dcgp_qos_bprod", "dcgp_usr_prod", "dcgp_qos_bprod", "24h", 17, 128, None, None),
    ("leonardo", "dcgp_qos_lprod", "dcgp_usr_prod", "dcgp_qos_lprod", "4d", None, 3, None, None),
    ("leonardo", "lrd_all_serial", None, None, "4h", None, 1, None, None),
    ("galileo100", "g100_usr_prod", None, None, "24h", None, 32, 100, 120),
    ("galileo100", "g100_qos_bprod", "g100_usr_prod", "g100_qos_bprod", None, 33, 64, None, None),
    ("galileo100", "g100_qos_lprod", "g100_usr_prod", "g100_qos_lprod", "4d", None, 2, None, None),
    ("perlmutter", "debug, GPU nodes", None, "debug", "30m", None, 8, None, None),
    ("perlmutter", "interactive, GPU nodes", None, "interactive", None, None, 4, 2, None),
    ("vista", "gg", None, None, "48h", None, 32, 20, 40),
    ("vista", "gh", None, None, "48h", None, 64, 20, 40),
    ("vista", "gh-dev", None, None, "2h", None, 8, 1, 3),
    ("lonestar6", "normal", None, None, "48h", None, 64, 20, 100),
    ("lonestar6", "large", None, None, "48h", 65, 256, 1, 4),
    ("lonestar6", "gpu-a100", None, None, "48h", None, 8, 8, 32),
    ("lonestar6", "gpu-h100", None, None, "48h", None, 1, 1, 4),
    ("frontera", "small", None, None, "48h", None, 2, 15, 80),
    ("frontera", "normal", None, None, "48h", 3, 512, 75, 200),
    ("frontera", "rtx", None, None, "48h", None, 16, 12, 36),
    ("juwels-booster", "booster", None, None, "24h", None, None, None, None),
    ("juwels-booster", "develbooster", None, None, "2h", None, None, None, None),
    ("jupiter", "booster", None, None, "12h", None, None, None, None),
    ("lumi", "standard-g", None, None, "2d", None, 1024, 200, 210),
    ("lumi", "standard", None, None, "2d", None, 512, 100, 120),
    ("lumi", "small-g", None, None, "3d", None, 4, 200, 210),
    ("lumi", "small", None, None, "3d", None, 4, 200, 220),
    ("lumi", "dev-g", None, None, "3h", None, 32, 1, 2),
    ("lumi", "debug", None, None, "30m", None, 4, 1, 2),
    ("delta", "cpu", None, None, "48h", None, None, None, None),
    ("delta", "gpuA100x4", None, None, "48h", None, None, None, None),
    ("delta", "gpuH200x8", None, None, "48h", None, 1, None, None),
    ("delta", "cpu-interactive", None, None, "30m", None, 4, None, None),
    ("delta", "gpuA40x4-interactive", None, None, "1h", None, 4, None, None),
]


@pytest.mark.parametrize(
    ("name", "queue", "flag", "qos", "time", "least", "most", "running", "submitted"),
    LIMITS,
    ids=[f"{row[0]}:{row[1]}" for row in LIMITS],
)
def test_limits_of_a_queue(
    name: str,
    queue: str,
    flag: str | None,
    qos: str | None,
    time: str | None,
    least: int | None,
    most: int | None,
    running: int | None,
    submitted: int | None,
) -> None:
    found = partition(name, queue)
    assert (found.flag, found.qos) == (flag, qos)
    assert found.time_limit == (Duration.parse(time) if time else None)
    assert (found.nodes_least, found.nodes_per_job) == (least, most)
    assert (found.running, found.submitted) == (running, submitted)


def test_clariden_counts_the_minutes_of_all_nodes_of_a_debug_job() -> None:
    assert partition("clariden", "debug").node_time == Duration.parse("90m")


@pytest.mark.parametrize("name", ALL)
def test_one_entry_is_taken_first_and_it_is_for_production(name: str) -> None:
    (first,) = [found for found in site(name).partitions if found.default]
    assert first.purpose is Purpose.PRODUCTION
    assert not first.restricted
    assert not first.preemptible


@pytest.mark.parametrize("name", [name for name in ALL if name not in (*GH200, *JSC)])
def test_a_job_without_gpus_is_not_put_on_gpu_nodes(name: str) -> None:
    (first,) = [found for found in site(name).partitions if found.default]
    assert not first.gpus


@pytest.mark.parametrize(
    ("name", "queue"), [("daint", "low"), ("leonardo", "boost_fua_prod"), ("lonestar6", "large"), ("frontera", "large")]
)
def test_queues_that_are_not_open_to_all(name: str, queue: str) -> None:
    assert partition(name, queue).restricted


@pytest.mark.parametrize("queue", ["cpu-preempt", "gpuA100x4-preempt", "gpuA40x4-preempt"])
def test_preemptible_queues_of_delta(queue: str) -> None:
    found = partition("delta", queue)
    assert (found.preemptible, found.grace) == (True, Duration.parse("5m"))


def test_frontera_flex_may_be_stopped() -> None:
    assert partition("frontera", "flex").preemptible


# ── nodes ────────────────────────────────────────────────────────────────────────────────────────────────────────────

# site, entry, CPUs, memory a job may have, memory built in, the whole node?
NODES = [
    ("daint", "normal", 288, "450G", None, True),
    ("clariden", "normal", 288, "450G", None, True),
    ("eiger", "normal", 256, "497G", None, True),
    ("leonardo", "boost_usr_prod", 32, "494000M", None, False),
    ("leonardo", "dcgp_usr_prod", 112, None, "512G", False),
    ("leonardo", "lrd_all_serial", 4, "30800M", None, False),
    ("galileo100", "g100_usr_prod", 48, "375300M", None, False),
    ("perlmutter", "regular, GPU nodes", 128, None, "256G", True),
    ("vista", "gh", 72, None, "116G", True),
    ("vista", "gg", 144, None, "237G", True),
    ("lonestar6", "gpu-a100", 128, None, "256G", True),
    ("lonestar6", "gpu-h100", 96, None, "384G", True),
    ("frontera", "small", 56, None, "192G", True),
    ("juwels-booster", "booster", 48, None, None, False),
    ("jupiter", "booster", 288, "878G", None, False),
    ("lumi", "standard-g", 56, None, "512G", True),
    ("lumi", "small-g", 56, None, "512G", False),
    ("lumi", "standard", 128, "224000M", None, True),
    ("delta", "gpuA100x4", 64, None, "256G", False),
    ("delta", "gpuH200x8", 96, None, "2T", False),
]


@pytest.mark.parametrize(
    ("name", "queue", "cpus", "memory", "installed", "whole"), NODES, ids=[f"{row[0]}:{row[1]}" for row in NODES]
)
def test_what_a_node_has(
    name: str, queue: str, cpus: int, memory: str | None, installed: str | None, whole: bool
) -> None:
    found = partition(name, queue)
    assert (found.cpus, found.whole_node) == (cpus, whole)
    assert found.memory == (Size.parse(memory) if memory else Size(0))
    assert found.installed == (Size.parse(installed) if installed else Size(0))


@pytest.mark.parametrize(
    ("name", "queue", "kind", "per_node", "cpus_each", "own_memory"),
    [
        ("daint", "normal", "gh200", 4, 72, None),
        ("piz-daint", "normal, GPU nodes", "p100", 1, 12, "16G"),
        ("leonardo", "boost_usr_prod", "a100", 4, 8, "64G"),
        ("galileo100", "g100_usr_interactive", "v100", 2, 0, "32G"),
        ("perlmutter", "regular, GPU nodes", "a100", 4, 32, "40G"),
        ("vista", "gh", "h200", 1, 72, "96G"),
        ("lonestar6", "gpu-a100", "a100", 3, 0, "40G"),
        ("lonestar6", "gpu-h100", "h100", 2, 0, "80G"),
        ("frontera", "rtx", "rtx5000", 4, 0, "16G"),
        ("juwels-booster", "booster", "a100", 4, 0, "40G"),
        ("jupiter", "booster", "gh200", 4, 0, "96G"),
        ("lumi", "small-g", "mi250x", 8, 7, "64G"),
        ("delta", "gpuA100x4", "a100", 4, 16, "40G"),
        ("delta", "gpuA100x8", "a100", 8, 16, "40G"),
        ("delta", "gpuH200x8", "h200", 8, 0, "141G"),
    ],
)
def test_gpus(name: str, queue: str, kind: str, per_node: int, cpus_each: int, own_memory: str | None) -> None:
    found = gpu(name, queue)
    assert (found.name, found.per_node, found.cpus_each) == (kind, per_node, cpus_each)
    assert found.own_memory == (Size.parse(own_memory) if own_memory else None)


def test_no_gpu_of_lumi_brings_a_core_that_cannot_be_had() -> None:
    """64 cores a node will never run."""
    assert gpu("lumi", "standard-g").cpus_each * 8 == 56


def test_where_nobody_says_what_comes_with_a_gpu_it_is_its_share_of_the_node() -> None:
    booster, serial = partition("juwels-booster", "booster"), partition("frontera", "rtx")
    assert booster.cpus_with(booster.gpus[0]) == 12
    assert serial.cpus_with(serial.gpus[0]) == 0
    alps = partition("daint", "normal")
    assert alps.memory_with(alps.gpus[0]) == Size.parse("112.5G")
    leonardo = partition("leonardo", "boost_usr_prod")
    assert leonardo.memory_with(leonardo.gpus[0]) == Size.parse("120G")


def test_a_gigabyte_of_delta_is_a_power_of_ten() -> None:
    """62.5 GB and 250 GB of 1,000,000,000 bytes each; anything more is paid as another GPU."""
    assert (
        gpu("delta", "gpuA100x4").memory_each.bytes
        <= 62_500_000_000
        < gpu("delta", "gpuA100x4").memory_each.bytes * 1.01
    )
    assert (
        gpu("delta", "gpuA100x8").memory_each.bytes
        <= 250_000_000_000
        < gpu("delta", "gpuA100x8").memory_each.bytes * 1.01
    )


@pytest.mark.parametrize(
    ("names", "architecture", "vendor"),
    [
        ([*GH200, "jupiter", "vista"], "aarch64", "nvidia"),
        (["leonardo", "perlmutter", "lonestar6", "frontera", "delta", "juwels-booster"], "x86_64", "nvidia"),
        (["lumi"], "x86_64", "amd"),
        (["eiger"], "x86_64", None),
    ],
)
def test_what_programs_must_be_built_for(names: list[str], architecture: str, vendor: str | None) -> None:
    for name in names:
        assert (site(name).software.architecture, site(name).software.gpu_vendor) == (architecture, vendor)


# ── where to put things ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("name", "place", "path", "size", "files", "purge"),
    [
        ("daint", "home", "/users/$USER", "50G", 500_000, None),
        ("daint", "scratch", "/capstor/scratch/cscs/$USER", "150T", None, 30),
        ("clariden", "scratch", "/iopsstor/scratch/cscs/$USER", None, None, 14),
        ("piz-daint", "scratch", "/scratch/snx3000/$USER", None, 1_000_000, 30),
        ("leonardo", "home", "$HOME", "50G", None, None),
        ("leonardo", "scratch", "$SCRATCH", None, None, 40),
        ("leonardo", "fast", "$FAST", "1T", None, None),
        ("galileo100", "scratch", "/g100_scratch/userexternal/$USER", None, None, 40),
        ("perlmutter", "home", "$HOME", "40G", 1_000_000, None),
        ("perlmutter", "scratch", "$SCRATCH", "20T", 10_000_000, 56),
        ("vista", "home", "$HOME", "23G", 500_000, None),
        ("lonestar6", "home", "$HOME", "10G", 200_000, None),
        ("frontera", "home", "$HOME", "25G", 200_000, None),
        ("vista", "work", "$WORK", "1T", 3_000_000, None),
        ("vista", "scratch", "$SCRATCH", None, None, 10),
        ("juwels-booster", "home", "$HOME", "10G", 10_000, None),
        ("juwels-booster", "scratch", "/p/scratch", "90T", 4_000_000, 90),
        ("jupiter", "scratch", "/e/scratch", None, None, None),
        ("lumi", "home", "/users/$USER", "20G", 100_000, None),
        ("lumi", "project", "/project/{account}", "50G", 100_000, None),
        ("lumi", "scratch", "/scratch/{account}", "50T", 2_000_000, 90),
        ("lumi", "flash", "/flash/{account}", "2T", 1_000_000, 30),
        ("delta", "home", "/u/$USER", "90G", 500_000, None),
        ("delta", "scratch", "/work/hdd", "1000G", None, None),
    ],
)
def test_quotas_and_purging(
    name: str, place: str, path: str, size: str | None, files: int | None, purge: int | None
) -> None:
    found = site(name).storage.place(place)
    assert found
    assert (found.path, found.files, found.purge_days) == (path, files, purge)
    assert found.size == (Size.parse(size) if size else None)


@pytest.mark.parametrize("name", ALPS)
def test_a_million_files_on_capstor_is_a_soft_limit(name: str) -> None:
    capstor = site(name).storage.place("large scratch" if name == "clariden" else "scratch")
    assert capstor
    assert (capstor.soft_files, capstor.grace, capstor.purge_days) == (1_000_000, Duration.parse("14d"), 30)
    assert site(name).storage.keeps_archive_times


@pytest.mark.parametrize("name", [*ALPS, *TACC, "perlmutter"])
def test_where_touching_files_against_the_purge_is_abuse(name: str) -> None:
    assert site(name).storage.no_touch


def test_compute_nodes_of_jupiter_see_only_e() -> None:
    storage = site("jupiter").storage
    assert storage.no_submit_from == ("/p",)
    assert [place.name for place in storage.places if place.jobs is Use.NO] == ["JUST (/p)"]


@pytest.mark.parametrize(
    ("names", "variable", "path", "medium"),
    [
        (ALPS, None, "/dev/shm", Medium.MEMORY),
        (["leonardo"], "TMPDIR", None, Medium.MEMORY),
        (TACC, None, "/tmp", Medium.DISK),
        (["lumi"], None, "/tmp", Medium.MEMORY),
        (["delta"], None, "/tmp", Medium.DISK),
        (JSC, None, None, Medium.UNKNOWN),
        (["perlmutter"], None, None, Medium.UNKNOWN),
    ],
)
def test_the_nodes_own_folder(names: list[str], variable: str | None, path: str | None, medium: Medium) -> None:
    for name in names:
        local = site(name).local_disk
        assert (local.variable, local.path, local.medium) == (variable, path, medium)


def test_leonardo_has_ten_gigabytes_of_memory_on_the_booster_and_disks_on_request_elsewhere() -> None:
    assert site("leonardo").local_disk.size == Size.parse("10G")
    assert site("leonardo").local_disk.request is None
    disk = partition("leonardo", "dcgp_usr_prod")
    assert (disk.local_request, disk.local_disk, disk.local_medium) == (
        "--gres=tmpfs:{size}",
        Size.parse("3T"),
        Medium.DISK,
    )


# ── network, software, cost, conduct ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("names", "internet"),
    [
        ([*ALPS, *TACC, "perlmutter", "lumi"], Reach.OPEN),
        ([*JSC, "leonardo"], Reach.NONE),
        (["galileo100", "delta", "piz-daint"], Reach.UNKNOWN),
    ],
)
def test_what_compute_nodes_see_of_the_internet(names: list[str], internet: Reach) -> None:
    assert {site(name).network.internet for name in names} == {internet}


def test_the_serial_nodes_of_leonardo_see_the_internet() -> None:
    assert partition("leonardo", "lrd_all_serial").internet is Reach.OPEN


@pytest.mark.parametrize(
    ("name", "variables"),
    [
        ("daint", {"NCCL_NET": "AWS Libfabric", "NCCL_CROSS_NIC": "1", "FI_CXI_RX_MATCH_MODE": "software"}),
        ("piz-daint", {"NCCL_SOCKET_IFNAME": "ipogif0", "NCCL_IB_HCA": "ipogif0"}),
        ("leonardo", {"NCCL_IB_HCA": "mlx5_0,mlx5_1,mlx5_2,mlx5_3", "NCCL_SOCKET_IFNAME": "ib0,ib1,ib2,ib3"}),
        ("juwels-booster", {"NCCL_SOCKET_IFNAME": "ib0", "NCCL_IB_TIMEOUT": "60"}),
        ("jupiter", {"NCCL_SOCKET_IFNAME": "ib0", "GLOO_USE_IPV6": "0"}),
        ("lumi", {"NCCL_SOCKET_IFNAME": "hsn", "NCCL_NET_GDR_LEVEL": "3"}),
    ],
)
def test_variables_that_the_network_needs(name: str, variables: dict[str, str]) -> None:
    assert variables.items() <= site(name).network.variables.items()


def test_nothing_is_set_that_would_break_another_network() -> None:
    assert "GLOO_SOCKET_IFNAME" not in site("jupiter").network.variables
    assert (site("juwels-booster").network.master_suffix, site("jupiter").network.master_suffix) == ("i", None)
    assert site("eiger").network.variables == {}


@pytest.mark.parametrize("name", ["piz-daint", "perlmutter"])
def test_a_cray_is_never_purged_blindly(name: str) -> None:
    assert not site(name).software.purge


def test_each_jsc_cluster_has_its_own_stage() -> None:
    assert "Stages/2024" in site("juwels-booster").software.modules
    assert "Stages/2026" in site("jupiter").software.modules
    assert "Stages/2024" in site("jupiter").software.blocked


@pytest.mark.parametrize(
    ("names", "conda"),
    [(ALPS, Welcome.FINE), (["perlmutter", "delta"], Welcome.FINE), (["lumi"], Welcome.DISCOURAGED)],
)
def test_what_is_said_of_conda(names: list[str], conda: Welcome) -> None:
    assert {site(name).software.conda for name in names} == {conda}


@pytest.mark.parametrize(
    ("names", "unit", "by"),
    [
        (ALPS, Unit.NODE_HOURS, ("nodes",)),
        (TACC, Unit.SERVICE_UNITS, ("nodes",)),
        (["perlmutter"], Unit.NODE_HOURS, ("nodes",)),
        (["leonardo"], Unit.CORE_HOURS, ("cores", "gpus", "memory")),
        (["lumi"], Unit.GPU_HOURS, ("gpus", "cores", "memory")),
        (["delta"], Unit.SERVICE_UNITS, ("gpus", "cores", "memory")),
    ],
)
def test_what_a_job_is_counted_in(names: list[str], unit: Unit, by: tuple[str, ...]) -> None:
    for name in names:
        assert (site(name).accounting.unit, site(name).accounting.by) == (unit, by)


@pytest.mark.parametrize(
    ("name", "queue", "charge"),
    [
        ("vista", "gg", 0.33),
        ("vista", "gh", 1.0),
        ("lonestar6", "gpu-a100", 3.0),
        ("lonestar6", "gpu-h100", 6.0),
        ("lonestar6", "gpu-a100-small", 1.5),
        ("lonestar6", "vm-small", 0.143),
        ("frontera", "flex", 0.8),
        ("frontera", "rtx", 3.0),
        ("delta", "gpuA40x4", 0.5),
        ("delta", "gpuA100x8", 1.5),
        ("delta", "gpuH200x8", 3.0),
        ("delta", "gpuMI100x8", 0.25),
        ("delta", "cpu-interactive", 2.0),
        ("delta", "gpuA100x4-preempt", 0.5),
        ("leonardo", "lrd_all_serial", 0.0),
    ],
)
def test_what_an_hour_costs(name: str, queue: str, charge: float) -> None:
    assert partition(name, queue).charge == charge


def test_lumi_pays_half_a_gpu_hour_for_eight_cores_or_64_gigabytes() -> None:
    half = gpu("lumi", "small-g")
    assert (half.weight, half.bill_cpus, half.bill_memory) == (0.5, 8, Size.parse("64G"))
    assert site("lumi").accounting.cpu_unit is Unit.CORE_HOURS


def test_leonardo_pays_eight_cores_for_a_gpu() -> None:
    assert gpu("leonardo", "boost_usr_prod").weight == 8.0


@pytest.mark.parametrize("name", TACC)
def test_tacc_bills_a_quarter_of_an_hour_at_least(name: str) -> None:
    assert site(name).accounting.minimum == Duration.parse("15m")


@pytest.mark.parametrize(
    ("names", "agents"),
    [(TACC, Welcome.FORBIDDEN), (ALPS, Welcome.DISCOURAGED), (["perlmutter", "lumi"], Welcome.UNKNOWN)],
)
def test_agents_on_login_nodes(names: list[str], agents: Welcome) -> None:
    assert {site(name).conduct.agents for name in names} == {agents}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("vista", "ssh-keygen"),
        ("vista", "deleted"),
        ("galileo100", "SBATCH_ACCOUNT"),
        ("leonardo", "saldo -b --dcgp"),
        ("perlmutter", "each srun"),
        ("lumi", "not for production"),
        ("delta", "--requeue"),
        ("jupiter", "jutil"),
        ("daint", "tar --touch"),
    ],
)
def test_what_a_site_asks_of_its_guests(name: str, words: str) -> None:
    assert any(words in wish for wish in site(name).conduct.requests)


@pytest.mark.parametrize("name", CINECA)
def test_ten_minutes_of_cpu_on_a_login_node(name: str) -> None:
    assert site(name).conduct.login_cpu == Duration.parse("10m")


def test_delta_gives_half_an_hour_and_a_gigabyte_a_core_to_those_who_ask_for_nothing() -> None:
    request = site("delta").request
    assert (request.default_time, request.default_memory_per_cpu) == (Duration.parse("30m"), Size.parse("1000M"))


@pytest.mark.parametrize(
    ("name", "weak"),
    [
        ("perlmutter", "request"),
        ("leonardo", "queues"),
        ("lumi", "queues"),
        ("jupiter", "storage"),
        ("vista", "network"),
    ],
)
def test_facts_from_weak_sources_say_so_and_why(name: str, weak: str) -> None:
    group = dict(site(name).groups())[weak]
    assert group.weak
    assert group.note


@pytest.mark.parametrize(
    ("name", "variable"), [("daint", "CLUSTER_NAME"), ("clariden", "CLUSTER_NAME"), ("perlmutter", "NERSC_HOST")]
)
def test_a_variable_that_tells_the_cluster(name: str, variable: str) -> None:
    assert site(name).fingerprint.variables[variable] == name


def test_no_two_sites_have_the_same_fingerprint() -> None:
    prints = [site(name).fingerprint for name in ALL]
    hosts = [pattern for mark in prints for pattern in (*mark.hosts, *mark.domains, *mark.variables.values())]
    assert hosts
    assert len(set(hosts)) == len(hosts)
