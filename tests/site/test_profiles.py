"""The numbers of each cluster by which a user would be hurt, as its own pages say them. Not a copy of the profiles."""

from __future__ import annotations

import fnmatch
import re
from dataclasses import dataclass, field

import pytest

from voyageur.site import Gpu, Medium, Partition, Policy, Purpose, Reach, Site, Status, Unit, Use, Welcome, load_profile
from voyageur.site import profile_names as names
from voyageur.units import Duration, Size

ALLIANCE = ["fir", "narval", "nibi", "rorqual"]
PAICE = ["killarney", "tamia", "vulcan"]
TRILLIUM = ["trillium", "trillium-gpu"]
RETIRED = {"beluga": "rorqual", "cedar": "fir", "graham": "nibi", "mist": "trillium-gpu", "niagara": "trillium"}
HERE = [*ALLIANCE, *PAICE, *TRILLIUM, *RETIRED, "magic-castle", "mila", "plai", "ubc-ml"]


def days(count: int) -> Duration:
    return Duration(count * 86_400)


def hours(*counts: int) -> tuple[Duration, ...]:
    return tuple(Duration(count * 3_600) for count in counts)


def size(text: str) -> Size:
    return Size.parse(text)


def partition(site: Site, name: str) -> Partition:
    return next(found for found in site.partitions if found.name == name)


def gpu(site: Site, name: str) -> Gpu:
    found = [gpu for partition in site.partitions for gpu in partition.gpus if gpu.is_called(name)]
    assert found, f"{site.name} has no {name}"
    return found[0]


def where(site: Site, name: str) -> Partition:
    return next(partition for partition in site.partitions if any(gpu.is_called(name) for gpu in partition.gpus))


# ── every profile ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_all_are_here_and_templates_are_not() -> None:
    assert set(HERE) <= set(names())
    assert not [name for name in names() if name.startswith("any-")]


@pytest.mark.parametrize("name", names())
def test_a_profile_says_where_its_facts_are_from_and_how_old(name: str) -> None:
    site = load_profile(name)
    assert name == name.lower()
    assert site.name == name and site.title and site.status is not Status.TEMPLATE
    for key, group in site.groups():
        if group == type(group)():
            continue
        assert group.source, key
        assert re.fullmatch(r"20\d\d-\d\d-\d\d", group.date), key
        assert not re.search(r"/work/|sites\.md|\b[A-Z]\d{1,2}\b[,;]", group.source), key
        assert group.note or not group.weak, f"{key} is weak, and nobody says why"


# The site's own arithmetic: memory cannot be asked for on Trillium, and Cedar is gone.
LOOSE = {("trillium-gpu", "h100"), ("cedar", "v100l")}


@pytest.mark.parametrize("name", names())
def test_what_comes_with_all_gpus_of_a_node_is_in_a_node(name: str) -> None:
    site = load_profile(name)
    for partition in site.partitions:
        for gpu in partition.gpus:
            most = max(gpu.counts, default=gpu.per_node)
            assert not partition.cpus or gpu.cpus_each * most <= partition.cpus, gpu.name
            if partition.memory.bytes and (name, gpu.name) not in LOOSE:
                assert gpu.memory_each.bytes * most <= partition.memory.bytes, gpu.name


@pytest.mark.parametrize("name", names())
def test_a_profile_has_one_first_partition_and_it_is_for_work(name: str) -> None:
    site = load_profile(name)
    first = [partition for partition in site.partitions if partition.default]
    assert len(first) == (1 if site.partitions else 0)
    assert all(partition.purpose is Purpose.PRODUCTION for partition in first)


@pytest.mark.parametrize("name", names())
def test_a_retired_cluster_has_a_successor_in_production(name: str) -> None:
    site = load_profile(name)
    if site.status is not Status.RETIRED:
        assert (site.successor, site.ended) == (None, None)
        return
    assert site.successor and load_profile(site.successor).status is Status.PRODUCTION
    assert site.ended or name not in RETIRED  # when Piz Daint ended, no source says
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", site.ended or "2000-01-01")


def test_no_fingerprint_is_of_two_clusters() -> None:
    """Names that a cluster answers to must fit no other's patterns."""
    sites = [load_profile(name) for name in names()]
    for site in sites:
        for other in sites:
            if site is not other:
                assert not set(site.fingerprint.cluster) & set(other.fingerprint.cluster)
                assert not site.fingerprint.variables.items() & other.fingerprint.variables.items()


@pytest.mark.parametrize(
    ("kind", "seen", "expected"),
    [
        ("domains", "narval.calcul.quebec", "narval"),
        ("domains", "rorqual.calcul.quebec", "rorqual"),
        ("domains", "rorqual1.rorqual.calcul.quebec", "rorqual"),
        ("domains", "c492.nibi.sharcnet", "nibi"),
        ("domains", "login1.fir.alliancecan.ca", "fir"),
        ("domains", "int.ets1.calculquebec.ca", "beluga"),
        ("domains", "nibi.sharcnet", "nibi"),
        ("domains", "login-2.server.mila.quebec", "mila"),
        ("domains", "server.mila.quebec", "mila"),
        ("nodes", "fc10512", "fir"),
        ("nodes", "tri0001", "trillium"),
        ("nodes", "trig0001", "trillium-gpu"),
        ("nodes", "cdr123", "cedar"),
        ("nodes", "cn-g001", "mila"),
        ("nodes", "plai03", "plai"),
        ("nodes", "ubc-ml02", "ubc-ml"),
        ("nodes", "rack03-1", None),
        ("hosts", "tri-login03", "trillium"),
        ("hosts", "trig-login01", "trillium-gpu"),
        ("hosts", "klogin02", "killarney"),
        ("hosts", "borg", "plai"),
        ("hosts", "submit-ml", "ubc-ml"),
    ],
)
def test_a_name_tells_one_cluster(kind: str, seen: str, expected: str | None) -> None:
    fitting = [
        name
        for name in names()
        if any(fnmatch.fnmatch(seen, pattern) for pattern in getattr(load_profile(name).fingerprint, kind))
    ]
    assert fitting == ([expected] if expected else [])


def test_what_slurm_calls_a_cluster_is_only_said_where_it_is_known() -> None:
    """`voy submit` refuses on a cluster of another name."""
    told = {name: load_profile(name).fingerprint.cluster for name in HERE}
    assert {name: cluster for name, cluster in told.items() if cluster} == {
        "narval": ("narval",),
        "trillium-gpu": ("grillium",),
        "killarney": ("killarney",),
    }


# ── asking: the flags ────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("name", "account", "partition", "memory", "time"),
    [
        *[(name, "conditional", "forbidden", "optional", "required") for name in ALLIANCE],
        ("trillium", "optional", "optional", "ignored", "required"),
        ("trillium-gpu", "optional", "optional", "ignored", "required"),
        ("killarney", "required", "optional", "optional", "required"),
        ("vulcan", "required", "optional", "optional", "required"),
        ("tamia", "required", "forbidden", "optional", "required"),
        ("magic-castle", "required", "optional", "optional", "optional"),
        ("plai", "ignored", "required", "optional", "optional"),
        ("ubc-ml", "optional", "required", "optional", "optional"),
        ("mila", "optional", "optional", "optional", "optional"),
    ],
)
def test_what_sbatch_must_and_must_not_be_told(name: str, account: str, partition: str, memory: str, time: str) -> None:
    asked = load_profile(name).request
    told = (asked.account, asked.partition, asked.memory, asked.time)
    assert tuple(policy.value for policy in told) == (account, partition, memory, time)


@pytest.mark.parametrize("name", ALLIANCE)
def test_the_alliance_wants_the_model_and_not_gres(name: str) -> None:
    asked = load_profile(name).request
    assert asked.gpu_flag == "--gpus-per-node={type}{count}"
    assert asked.gpu_type is Policy.REQUIRED
    assert asked.default_memory_per_cpu == size("256M")


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        *[(name, ["def-prof", "rrg-prof-ab", "rpp-x", "ctb-x_gpu"], ["aip-prof", "prof"]) for name in ALLIANCE],
        *[(name, ["aip-prof", "aip-x_cpu"], ["def-prof", "rrg-prof", "rpp-prof"]) for name in PAICE],
        ("magic-castle", ["def-sponsor00", "ctb-x"], ["aip-prof", "sponsor00"]),
    ],
)
def test_accounts_look_as_they_do_there(name: str, right: list[str], wrong: list[str]) -> None:
    asked = load_profile(name).request
    assert asked.account_form and asked.account_example
    assert all(re.fullmatch(asked.account_form, account) for account in [*right, asked.account_example])
    assert not [account for account in wrong if re.fullmatch(asked.account_form, account)]


def test_gpus_of_trillium_are_counted_without_a_model() -> None:
    assert load_profile("trillium-gpu").request.gpu_flag.format(type="h100:", count=4) == "--gpus-per-node=4"


@pytest.mark.parametrize("name", ["plai", "ubc-ml", "magic-castle"])
def test_where_gpus_have_no_names_and_nobody_counts_them_any_number_may_be_asked_for(name: str) -> None:
    site = load_profile(name)
    assert site.gpu_names() == []
    assert site.request.gpu_flag.format(type="", count=4) == "--gres=gpu:4"
    assert site.partitions[0].gpu(None, 8)


# ── GPUs ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("name", "model", "per_node", "cpus", "memory", "weight"),
    [
        ("narval", "a100", 4, 12, "124G", 4.0),
        ("rorqual", "h100", 4, 16, "124G", 12.2),
        ("fir", "h100", 4, 12, "280G", 12.2),
        ("nibi", "h100", 8, 14, "250G", 12.2),
        ("trillium-gpu", "h100", 4, 24, "188G", 12.2),
        ("tamia", "h100", 4, 12, None, 12.2),
        ("tamia", "h200", 8, 8, None, None),
        ("killarney", "l40s", 4, 16, None, None),
        ("killarney", "h100", 8, 6, None, 12.2),
        ("vulcan", "l40s", 4, 0, None, None),
        ("beluga", "v100", 4, 10, "46.5G", 2.2),
        ("cedar", "p100", 4, 6, "25G", 1.0),
        ("cedar", "p100l", 4, 6, None, 1.1),
        ("cedar", "v100l", 4, 8, "65G", 2.6),
        ("graham", "p100", 2, 16, None, None),
        ("graham", "t4", 4, 0, None, 1.3),
    ],
)
def test_what_comes_with_a_gpu(
    name: str, model: str, per_node: int, cpus: int, memory: str | None, weight: float | None
) -> None:
    found = gpu(load_profile(name), model)
    expected = size(memory) if memory else Size(0)
    assert (found.per_node, found.cpus_each, found.memory_each, found.weight) == (per_node, cpus, expected, weight)
    assert not found.slice


LONG = "nvidia_h100_80gb_hbm3_"


@pytest.mark.parametrize(
    ("name", "model", "cpus", "memory", "weight"),
    [
        ("narval", "a100_1g.5gb", 1, "15G", 0.57),
        ("narval", "a100_2g.10gb", 3, "31G", 1.14),
        ("narval", "a100_3g.20gb", 6, "62G", 2.0),
        ("narval", "a100_4g.20gb", 6, "62G", 2.3),
        ("rorqual", "h100_1g.10gb", 2, "15G", 1.74),
        ("rorqual", "h100_2g.20gb", 4, "31G", 3.48),
        ("rorqual", "h100_3g.40gb", 8, "62G", 6.1),
        ("nibi", "h100_1g.10gb", 2, "31G", 1.74),
        ("nibi", "h100_2g.20gb", 4, "62G", 3.48),
        ("nibi", "h100_3g.40gb", 6, "124G", 6.1),
        ("fir", LONG + "1g.10gb", 1, "35G", 1.74),
        ("fir", LONG + "2g.20gb", 3, "70G", 3.48),
        ("fir", LONG + "3g.40gb", 6, "140G", 6.1),
    ],
)
def test_slices_one_at_a_time(name: str, model: str, cpus: int, memory: str, weight: float) -> None:
    site = load_profile(name)
    found = gpu(site, model)
    assert (found.name, found.cpus_each, found.memory_each, found.weight) == (model, cpus, size(memory), weight)
    assert (found.slice, found.per_job, found.allows(1), found.allows(2)) == (True, 1, True, False)
    assert where(site, model).gpu(None, 1) != found, "a job that names no model must not get a slice"


@pytest.mark.parametrize("name", ["rorqual", "nibi"])
@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("h100_80gb", "h100"),
        ("nvidia_h100_80gb_hbm3", "h100"),
        ("h100_1.10", "h100_1g.10gb"),
        ("h100_10gb", "h100_1g.10gb"),
        ("h100_20gb", "h100_2g.20gb"),
        ("h100_3.40", "h100_3g.40gb"),
        (LONG + "3g.40gb", "h100_3g.40gb"),
    ],
)
def test_other_names_that_the_site_takes(name: str, said: str, meant: str) -> None:
    assert gpu(load_profile(name), said).name == meant


def test_fir_knows_slices_by_their_long_names_only() -> None:
    site = load_profile("fir")
    assert site.gpu_names() == ["h100", LONG + "1g.10gb", LONG + "2g.20gb", LONG + "3g.40gb"]
    assert not any(partition.gpu("h100_1g.10gb", 1) for partition in site.partitions)


@pytest.mark.parametrize(
    ("name", "model", "allowed"),
    [
        ("trillium-gpu", "h100", [1, 4]),
        ("tamia", "h100", [4]),
        ("tamia", "h200", [8]),
        ("nibi", "mi300a", [4]),
        ("nibi", "h100", [1, 2, 3, 4, 5, 6, 7, 8]),
        ("narval", "a100", [1, 2, 3, 4]),
    ],
)
def test_how_many_gpus_of_a_node_may_be_asked_for(name: str, model: str, allowed: list[int]) -> None:
    found = gpu(load_profile(name), model)
    assert [count for count in range(1, 17) if found.allows(count)] == allowed


def test_jobs_of_several_nodes_on_trillium_take_all_four() -> None:
    assert gpu(load_profile("trillium-gpu"), "h100").counts_multinode == (4,)


def test_the_apus_of_nibi_are_amd() -> None:
    site = load_profile("nibi")
    assert (gpu(site, "mi300a").vendor, gpu(site, "h100").vendor, site.software.gpu_vendor) == ("amd", None, "nvidia")


# ── nodes ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Node:
    site: str
    partition: str
    count: int
    cpus: int
    memory: str
    disk: str | None = None
    whole: bool = field(default=False, kw_only=True)


NODES = [
    Node("narval", "cpu nodes", 1145, 64, "256000M", "800G"),
    Node("narval", "large memory nodes", 33, 64, "2057500M", "800G"),
    Node("narval", "largest memory nodes", 3, 64, "4096000M", "800G"),
    Node("narval", "gpu nodes", 159, 48, "510000M", "3576G"),
    Node("rorqual", "cpu nodes", 670, 192, "768000M", "375G"),
    Node("rorqual", "large disk nodes", 8, 192, "768000M", "3360G"),
    Node("rorqual", "large memory nodes", 8, 192, "3086250M", "375G"),
    Node("rorqual", "gpu nodes", 93, 64, "510000M", "3360G"),
    Node("fir", "cpu nodes", 864, 192, "768000M", "7T"),
    Node("fir", "large memory nodes", 8, 192, "6144000M", "7T"),
    Node("fir", "gpu nodes", 160, 48, "1152000M", "7T"),
    Node("nibi", "cpu nodes", 700, 192, "766000M", "3T"),
    Node("nibi", "large memory nodes", 10, 192, "6144000M", "3T"),
    Node("nibi", "gpu nodes", 36, 112, "2048000M", "11T"),
    Node("nibi", "mi300a nodes", 6, 96, "507000M", "3T", whole=True),
    Node("trillium", "compute", 1224, 192, "767000M", whole=True),
    Node("trillium-gpu", "compute", 63, 96, "767000M"),
    Node("killarney", "gpubase_l40s_b1", 168, 64, "515000M", "325G"),
    Node("beluga", "gpu nodes", 172, 40, "191000M", "1490G"),
    Node("cedar", "p100l nodes", 32, 24, "257000M"),
    Node("cedar", "v100l nodes", 192, 32, "192000M"),
    Node("niagara", "compute", 0, 40, "188G", whole=True),
]


@pytest.mark.parametrize("node", NODES, ids=lambda node: f"{node.site} {node.partition}")
def test_what_a_job_may_have_of_a_node(node: Node) -> None:
    found = partition(load_profile(node.site), node.partition)
    assert (found.nodes, found.cpus, found.memory) == (node.count, node.cpus, size(node.memory))
    assert found.local_disk == (size(node.disk) if node.disk else None)
    assert found.whole_node == node.whole


@pytest.mark.parametrize(
    ("name", "model", "nodes", "cpus", "installed"),
    [
        ("tamia", "h100", 53, 48, "512G"),
        ("tamia", "h200", 12, 64, "1024G"),
        ("vulcan", "l40s", 252, 64, "512G"),
        ("killarney", "h100", 10, 48, "2048G"),
    ],
)
def test_what_is_built_in_is_not_what_a_job_may_have(
    name: str, model: str, nodes: int, cpus: int, installed: str
) -> None:
    """Nobody says how much of it is: a job that asked for all 512G would wait for ever."""
    found = where(load_profile(name), model)
    assert (found.nodes, found.cpus, found.installed, found.memory) == (nodes, cpus, size(installed), Size(0))
    assert gpu(load_profile(name), model).memory_each == Size(0)


def test_tamia_gives_whole_nodes_of_gpus_with_all_of_their_memory() -> None:
    site = load_profile("tamia")
    assert [(found.name, found.whole_node) for found in site.partitions] == [
        ("cpu nodes", False),
        ("h100 nodes", True),
        ("h200 nodes", True),
    ]
    assert site.request.whole_memory == "--mem=0"


# ── times and limits ─────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("name", "maximum", "tiers"),
    [
        *[(name, days(7), hours(3, 12, 24, 72, 168)) for name in ALLIANCE],
        ("killarney", days(7), hours(3, 12, 24, 72, 168)),
        ("vulcan", days(7), ()),
        ("tamia", days(1), hours(3, 12, 24)),
        ("trillium", days(1), ()),
        ("trillium-gpu", days(1), ()),
        ("cedar", days(28), hours(3, 12, 24, 72, 168, 672)),
        ("niagara", days(1), ()),
        ("mila", days(7), ()),
        ("magic-castle", None, ()),
        ("plai", None, ()),
    ],
)
def test_how_long_a_job_may_last(name: str, maximum: Duration | None, tiers: tuple[Duration, ...]) -> None:
    site = load_profile(name)
    assert (site.times.maximum, site.times.tiers) == (maximum, tiers)
    limits = [found.time_limit for found in site.partitions if found.time_limit]
    assert max(limits, default=None) == maximum


@pytest.mark.parametrize("name", ["narval", "rorqual", "fir", "tamia"])
def test_short_jobs_are_tests(name: str) -> None:
    times = load_profile(name).times
    assert (times.useful, times.useful_test, times.minimum) == (Duration(3_600), Duration(300), None)


@pytest.mark.parametrize(
    ("name", "submitted", "running"),
    [
        *[(name, 1000, None) for name in [*ALLIANCE, "tamia", "mila", "cedar", "beluga"]],
        ("trillium", 500, 150),
        ("trillium-gpu", 500, 150),
        ("niagara", 200, 50),
        ("killarney", None, None),
        ("vulcan", None, None),
        ("magic-castle", None, None),
    ],
)
def test_how_many_jobs(name: str, submitted: int | None, running: int | None) -> None:
    limits = load_profile(name).limits
    assert (limits.submitted, limits.running) == (submitted, running)


@pytest.mark.parametrize(
    ("name", "most", "unallocated", "debug"), [("trillium", 128, 10, (1, 2)), ("trillium-gpu", 25, 5, (2, 2))]
)
def test_trillium(name: str, most: int, unallocated: int, debug: tuple[int, int]) -> None:
    site = load_profile(name)
    compute, testing = site.partitions
    assert (compute.time_minimum, compute.time_limit) == (Duration(15 * 60), days(1))
    assert (compute.nodes_per_job, compute.nodes_unallocated) == (most, unallocated)
    assert compute.named == (name == "trillium"), "a job that names `compute` on the GPU nodes is refused"
    assert (testing.name, testing.purpose, testing.named) == ("debug", Purpose.DEBUG, True)
    assert ((testing.time_limit,), testing.nodes_per_job) == (hours(debug[0]), debug[1])
    assert (testing.running, testing.submitted) == (1, 1)
    assert site.limits.sbatch_in_jobs is False
    assert site.request.default_time == Duration(15 * 60)
    assert site.storage.submit_from == "$SCRATCH"
    assert "no password" in site.access.factors[0]


def test_the_two_halves_of_trillium_have_their_own_doors() -> None:
    cpu, gpus = (load_profile(name).access for name in TRILLIUM)
    assert cpu.login == ("trillium.alliancecan.ca", "trillium.scinet.utoronto.ca")
    assert gpus.login == ("trillium-gpu.alliancecan.ca", "trillium-gpu.scinet.utoronto.ca")
    assert not set(cpu.robots) & set(gpus.robots)
    assert cpu.transfer == gpus.transfer and cpu.transfer_above == size("10G")


def test_killarney_has_a_partition_for_each_tier() -> None:
    site = load_profile("killarney")
    for model in ("l40s", "h100"):
        tiers = [found for found in site.partitions if found.name.startswith(f"gpubase_{model}_b")]
        assert [found.name[-2:] for found in tiers] == ["b1", "b2", "b3", "b4", "b5"]
        assert tuple(found.time_limit for found in tiers) == hours(3, 12, 24, 72, 168)


@pytest.mark.parametrize(
    ("name", "limit", "cpus", "memory", "gpus"),
    [
        ("unkillable", "2d", 6, "32G", 1),
        ("unkillable-cpu", "2d", 2, "16G", 0),
        ("main", "5d", 8, "48G", 2),
        ("main-cpu", "5d", 8, "64G", 0),
        ("short-unkillable", "3h", 192, "1000G", 4),
    ],
)
def test_partitions_of_mila_that_cap_a_job(name: str, limit: str, cpus: int, memory: str, gpus: int) -> None:
    found = partition(load_profile("mila"), name)
    assert (found.time_limit, found.cpus, found.memory) == (Duration.parse(limit), cpus, size(memory))
    assert found.job_caps
    assert max((count for gpu in found.gpus for count in range(9) if gpu.allows(count)), default=0) == gpus
    assert found.preemptible == name.startswith("main")


@pytest.mark.parametrize(
    ("model", "per_node", "cpus", "memory"),
    [
        ("rtx8000", 8, 5, "47G"),
        ("v100", 8, 5, "47G"),
        ("a100", 8, 12, "124G"),
        ("a100l", 8, 16, "248G"),
        ("a6000", 8, 8, "125G"),
        ("l40s", 4, 12, "250G"),
    ],
)
def test_the_long_partition_of_mila(model: str, per_node: int, cpus: int, memory: str) -> None:
    found = partition(load_profile("mila"), "long")
    assert (found.time_limit, found.preemptible, found.job_caps) == (days(7), True, False)
    kind = found.gpu(model, 1)
    assert kind and (kind.per_node, kind.cpus_each, kind.memory_each) == (per_node, cpus, size(memory))


def test_h100_of_mila_are_in_one_partition() -> None:
    site = load_profile("mila")
    assert [found.name for found in site.partitions if found.gpu("h100", 1)] == ["short-unkillable"]
    assert site.access.port == 2222


# ── where files go ───────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("name", "place", "quota", "files", "purge", "jobs"),
    [
        *[(name, "home", "50G", 500_000, None, "discouraged") for name in ALLIANCE],
        *[(name, "scratch", "20T", 1_000_000, 60, "yes") for name in ("narval", "rorqual", "fir")],
        *[(name, "project", "1T", 500_000, None, "discouraged") for name in ALLIANCE],
        ("nibi", "scratch", "20T", 1_000_000, None, "yes"),
        ("narval", "nearline", "1T", 5_000, None, "no"),
        ("fir", "nearline", "2T", 5_000, None, "no"),
        ("nibi", "nearline", "10T", 5_000, None, "no"),
        *[(name, "home", "100G", 1_000_000, None, "read-only") for name in TRILLIUM],
        *[(name, "scratch", "25T", 10_000_000, 60, "yes") for name in TRILLIUM],
        *[(name, "project", "1T", 2_000_000, None, "read-only") for name in TRILLIUM],
        ("tamia", "home", "25G", None, None, "discouraged"),
        ("tamia", "scratch", None, None, 60, "yes"),
        ("killarney", "home", "50G", 500_000, None, "discouraged"),
        ("killarney", "scratch", None, 10_000_000, 60, "yes"),
        ("vulcan", "home", "50G", None, None, "discouraged"),
        ("vulcan", "scratch", "5T", None, 60, "yes"),
        ("niagara", "home", "100G", None, None, "read-only"),
        ("niagara", "scratch", "25T", None, 60, "yes"),
        ("mila", "home", "100G", 1_000_000, None, "discouraged"),
        ("mila", "scratch", "5T", None, 90, "yes"),
        ("mila", "projects", "1T", 1_000_000, None, "yes"),
        ("mila", "archive", "5T", None, None, "no"),
        ("plai", "scratch", None, None, None, "yes"),
    ],
)
def test_quotas_and_purging(
    name: str, place: str, quota: str | None, files: int | None, purge: int | None, jobs: str
) -> None:
    found = load_profile(name).storage.place(place)
    assert found
    assert (found.size, found.files) == (size(quota) if quota else None, files)
    assert (found.purge_days, found.jobs) == (purge, Use(jobs))


@pytest.mark.parametrize("name", ["nibi", "graham"])
def test_scratch_of_nibi_may_be_overfull_for_sixty_days_and_loses_nothing(name: str) -> None:
    scratch = load_profile(name).storage.place("scratch")
    assert scratch and (scratch.soft_size, scratch.grace, scratch.purge_days) == (size("1T"), days(60), None)


@pytest.mark.parametrize(
    ("name", "refused"), [("cedar", ("/home",)), ("killarney", ("/home",)), ("fir", ()), ("narval", ())]
)
def test_folders_that_jobs_are_not_submitted_from(name: str, refused: tuple[str, ...]) -> None:
    assert load_profile(name).storage.no_submit_from == refused


@pytest.mark.parametrize(
    ("name", "medium", "variable", "disk"),
    [
        ("narval", Medium.DISK, "SLURM_TMPDIR", "800G"),
        ("rorqual", Medium.DISK, "SLURM_TMPDIR", "375G"),
        ("fir", Medium.DISK, "SLURM_TMPDIR", "7T"),
        ("nibi", Medium.DISK, "SLURM_TMPDIR", "3T"),
        ("trillium", Medium.MEMORY, "SLURM_TMPDIR", None),
        ("trillium-gpu", Medium.MEMORY, "SLURM_TMPDIR", None),
        ("niagara", Medium.MEMORY, "SLURM_TMPDIR", None),
        ("tamia", Medium.DISK, "SLURM_TMPDIR", None),
        ("magic-castle", Medium.DISK, "SLURM_TMPDIR", None),
        ("mila", Medium.DISK, "SLURM_TMPDIR", "2790G"),
        ("plai", Medium.DISK, None, None),
    ],
)
def test_the_nodes_own_folder(name: str, medium: Medium, variable: str | None, disk: str | None) -> None:
    folder = load_profile(name).local_disk
    assert (folder.medium, folder.variable, folder.size) == (medium, variable, size(disk) if disk else None)


def test_more_of_the_disk_is_asked_for_on_rorqual() -> None:
    folder = load_profile("rorqual").local_disk
    assert folder.request and folder.request.format(size="1000G") == "--tmp=1000G"


def test_plai_cleans_nothing_and_sets_no_scratch() -> None:
    site = load_profile("plai")
    assert (site.local_disk.path, site.local_disk.cleaned) == ("/scratch-ssd", False)
    assert site.storage.scratch == "/ubc/cs/research/plai-scratch/$USER"
    assert site.limits.sbatch_pause == Duration(1)


# ── network, software, money, manners ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("name", "internet", "module"),
    [
        ("narval", Reach.PROXY, "httpproxy"),
        ("rorqual", Reach.PROXY, "httpproxy"),
        ("tamia", Reach.PROXY, "httpproxy"),
        ("vulcan", Reach.PROXY, None),
        ("fir", Reach.OPEN, None),
        ("nibi", Reach.OPEN, None),
        ("killarney", Reach.OPEN, None),
        ("mila", Reach.OPEN, None),
        ("trillium", Reach.NONE, None),
        ("trillium-gpu", Reach.NONE, None),
        ("cedar", Reach.OPEN, None),
        ("beluga", Reach.NONE, None),
        ("graham", Reach.NONE, None),
        ("niagara", Reach.NONE, None),
        ("magic-castle", Reach.UNKNOWN, None),
        ("plai", Reach.UNKNOWN, None),
    ],
)
def test_what_jobs_reach_of_the_internet(name: str, internet: Reach, module: str | None) -> None:
    network = load_profile(name).network
    assert (network.internet, network.proxy_module) == (internet, module)


@pytest.mark.parametrize("name", [*ALLIANCE, *PAICE, *TRILLIUM])
def test_the_stack_of_the_alliance(name: str) -> None:
    software = load_profile(name).software
    assert software.modules == ("StdEnv/2023",)
    assert (software.before_environment, software.wheelhouse, software.wheels_command) == (
        ("arrow",),
        True,
        "avail_wheels",
    )
    assert (software.conda, software.containers, software.architecture) == (
        Welcome.DISCOURAGED,
        ("apptainer",),
        "x86_64",
    )
    assert "$SCRATCH" not in software.environments


def test_modules_that_narval_refuses_and_instructions_it_lacks() -> None:
    software = load_profile("narval").software
    assert software.blocked == ("StdEnv/2016", "StdEnv/2018")
    assert software.instructions and "no AVX-512" in software.instructions


def test_environments_are_not_made_in_jobs_on_trillium() -> None:
    """Home is read-only there, and the folder of the node is memory."""
    software = load_profile("trillium-gpu").software
    assert (software.environments, software.standard_loaded) == (("$HOME",), False)


@pytest.mark.parametrize(
    ("name", "unit", "cpu_unit", "by"),
    [
        *[(name, Unit.RGU_HOURS, Unit.CORE_HOURS, ("gpus", "cores", "memory")) for name in ALLIANCE],
        ("trillium", Unit.CORE_HOURS, Unit.CORE_HOURS, ("cores",)),
        ("trillium-gpu", Unit.RGU_HOURS, Unit.CORE_HOURS, ("gpus",)),
        ("mila", Unit.UNKNOWN, None, ()),
        ("magic-castle", Unit.UNKNOWN, None, ()),
    ],
)
def test_what_is_paid(name: str, unit: Unit, cpu_unit: Unit | None, by: tuple[str, ...]) -> None:
    accounting = load_profile(name).accounting
    assert (accounting.unit, accounting.cpu_unit, accounting.by) == (unit, cpu_unit, by)


@pytest.mark.parametrize(
    ("name", "crontab", "editors"),
    [
        ("narval", Welcome.FORBIDDEN, Welcome.UNKNOWN),
        ("rorqual", Welcome.FORBIDDEN, Welcome.UNKNOWN),
        ("fir", Welcome.FORBIDDEN, Welcome.UNKNOWN),
        ("nibi", Welcome.UNKNOWN, Welcome.UNKNOWN),
        ("tamia", Welcome.FORBIDDEN, Welcome.FORBIDDEN),
        ("mila", Welcome.UNKNOWN, Welcome.DISCOURAGED),
    ],
)
def test_manners_on_login_nodes(name: str, crontab: Welcome, editors: Welcome) -> None:
    conduct = load_profile(name).conduct
    assert (conduct.crontab, conduct.editors) == (crontab, editors)


@pytest.mark.parametrize("name", [*ALLIANCE, "killarney", "tamia", "vulcan"])
def test_a_login_node_of_the_alliance_bears_little(name: str) -> None:
    conduct, limits = load_profile(name).conduct, load_profile(name).limits
    assert (conduct.login_cpu, conduct.login_memory) == (Duration(600), size("4G"))
    assert limits.sbatch_pause == Duration(1)


def test_doors_that_open_from_some_countries_only() -> None:
    shut = {name: load_profile(name).access.only_from for name in HERE}
    assert {name for name, only in shut.items() if only} == {"tamia", "killarney"}
    assert shut["tamia"] == "Canada"


@pytest.mark.parametrize(("name", "successor"), RETIRED.items())
def test_retired(name: str, successor: str) -> None:
    site = load_profile(name)
    ended = {
        "beluga": "2025-07-31",
        "cedar": "2025-09-12",
        "graham": "2025-09-01",
        "mist": "2025-09-16",
        "niagara": "2025-09-30",
    }
    assert (site.status, site.successor, site.ended) == (Status.RETIRED, successor, ended[name])


WEAK = {
    "killarney": {"request", "times", "queues", "storage", "network", "conduct", "fingerprint"},
    "mila": {"network"},
    "tamia": {"fingerprint"},
    "trillium": {"storage"},
    "trillium-gpu": {"storage"},
    "vulcan": {"fingerprint"},
    "plai": {"access", "request", "queues", "local_disk", "storage", "software", "limits", "conduct"},
    "ubc-ml": {"access", "request", "queues", "storage", "software", "limits"},
}


@pytest.mark.parametrize("name", HERE)
def test_weak_facts_are_called_weak(name: str) -> None:
    assert {key for key, group in load_profile(name).groups() if group.weak} == WEAK.get(name, set())
