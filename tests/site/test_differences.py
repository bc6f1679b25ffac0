"""A profile beside what its cluster says: what differs, what is no difference, and the overlay that comes of it."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.site_commands import recorded
from voyageur.site import Gpu, Medium, Partition, Policy, Queues, Reach, Request, Site, load_profile
from voyageur.site.differences import Difference, differences
from voyageur.site.facts import Fingerprint, Limits, LocalDisk, Network
from voyageur.site.overlay import overlay_text
from voyageur.site.profile import from_toml
from voyageur.site.seen import NodeLook, Seen, kinds_seen, node_look_from, partitions_seen
from voyageur.slurm_text.survey import NodeKind, QosRow, node_kinds_from, partition_rows_from, qos_rows_from
from voyageur.units import Duration, Size

DATE = "2026-11-18"
EMPTY = Site(name="lab", engine="slurm", title="lab")


def seen_bed() -> Seen:
    kinds = node_kinds_from(recorded("sinfo-all.txt"))
    rows = partition_rows_from(recorded("scontrol-show-partition.txt"))
    return Seen(
        cluster="bed",
        kill_wait=Duration(5),
        message_timeout=Duration(10),
        array=1001,
        partitions=partitions_seen(kinds, rows, preempts=True),
        closed=tuple(row.name for row in rows if not row.open_to_all),
        kinds=kinds_seen(kinds),
        scratch="$SCRATCH",
    )


def laid_over(tmp_path: Path, name: str, text: str) -> Site:
    (tmp_path / f"{name}.toml").write_text(text)
    return load_profile(name, tmp_path)


def shown(found: list[Difference]) -> dict[str, tuple[object, object]]:
    return {".".join(one.path): (one.profile, one.cluster) for one in found}


# ── what Slurm says ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_busy_and_idle_nodes_are_one_kind_and_a_node_in_five_partitions_is_one_node() -> None:
    kinds = node_kinds_from(recorded("sinfo-all.txt"))
    assert [(kind.partition, kind.nodes) for kind in kinds] == [
        ("low", 4), ("lowg", 4), ("lowc", 4), ("high", 4), ("short", 4),
    ]  # fmt: skip
    assert [(kind.nodes, kind.gpus) for kind in kinds_seen(kinds)] == [(4, {"v100": 4})]


def test_partitions_as_scontrol_shows_them() -> None:
    low, lowg, _, high, short = seen_bed().partitions
    assert (low.default, low.preemptible, low.grace) == (True, True, None)
    assert (lowg.preemptible, lowg.grace, high.preemptible) == (True, Duration(12), False)
    assert (short.time_limit, short.nodes_per_job, short.whole_node) == (Duration(600), None, False)


def test_a_partition_that_is_down_takes_no_jobs_and_one_for_some_is_not_open() -> None:
    text = recorded("scontrol-show-partition.txt")
    text = text.replace("State=UP", "State=DOWN", 1).replace("AllowAccounts=ALL", "AllowAccounts=staff")
    rows = partition_rows_from(text)
    assert [row.up for row in rows] == [False, True, True, True, True]
    assert not any(row.open_to_all for row in rows)
    names = [one.name for one in partitions_seen(node_kinds_from(recorded("sinfo-all.txt")), rows, preempts=False)]
    assert names == ["lowg", "lowc", "high", "short"]


def test_qos_rows() -> None:
    rows = qos_rows_from("normal||||\n" + "normal|||\nboost_qos_dbg|00:30:00|1|2\n")
    assert rows == [
        QosRow(name="normal"),
        QosRow(name="boost_qos_dbg", time_limit=Duration(1800), running=1, submitted=2),
    ]


@given(st.text())
def test_no_answer_breaks_the_readers(text: str) -> None:
    assert isinstance([*node_kinds_from(text), *partition_rows_from(text), *qos_rows_from(text)], list)
    node_look_from(text)


# ── a profile of its own ─────────────────────────────────────────────────────────────────────────────────────────────


def test_a_whole_profile_says_all_that_the_cluster_said(tmp_path: Path) -> None:
    seen = seen_bed()
    site = laid_over(tmp_path, "lab", overlay_text("lab", differences(EMPTY, seen), DATE, "the Slurm cluster bed"))
    assert differences(site, seen) == []
    assert [one.name for one in site.partitions] == ["low", "lowg", "lowc", "high", "short"]
    assert site.partitions[0].gpus[0] == Gpu(name="v100", per_node=4, cpus_each=2, memory_each=Size.parse("1000M"))
    assert (site.kill_wait, site.limits.array, site.fingerprint.cluster) == (Duration(5), 1001, ("bed",))
    assert all(group.source == "voy site probe" for _, group in site.groups() if group != type(group)())


def test_a_machine_that_shows_no_slurm_conf_is_recognised_by_its_domain() -> None:
    assert shown(differences(EMPTY, Seen(domain="lab.example.org"))) == {
        "fingerprint.domains": ((), ("lab.example.org",))
    }
    assert differences(EMPTY, Seen(domain="localdomain")) == []
    known_by_host = replace(EMPTY, fingerprint=Fingerprint(hosts=("login*",)))
    assert differences(known_by_host, Seen(domain="lab.example.org")) == []


def test_what_did_not_answer_is_no_difference() -> None:
    assert differences(EMPTY, Seen()) == []
    assert differences(load_profile("narval"), Seen(scratch=load_profile("narval").storage.scratch)) == []


def test_a_partition_that_is_not_open_to_all_is_shown_and_left_out() -> None:
    seen = replace(seen_bed(), closed=("high",))
    (high,) = [one for one in differences(EMPTY, seen) if one.path[-1] == "high"]
    assert (high.taken, high.because) == (False, "it is not open to everybody")


# ── a profile that names partitions ──────────────────────────────────────────────────────────────────────────────────


def known(**facts: object) -> Site:
    """The bed's own profile, but for some facts of its first partition."""
    seen = seen_bed()
    first = replace(seen.partitions[0], **facts)
    return replace(
        EMPTY,
        kill_wait=Duration(5),
        limits=Limits(array=1001),
        fingerprint=Fingerprint(cluster=("bed",)),
        queues=Queues(partitions=(first, *seen.partitions[1:])),
    )


def test_a_right_profile_has_no_differences() -> None:
    assert differences(known(), seen_bed()) == []


@pytest.mark.parametrize(
    ("facts", "fact", "cluster"),
    [
        ({"time_limit": Duration.parse("3d")}, "time_limit", Duration.parse("1d")),
        ({"memory": Size.parse("8000M")}, "memory", Size.parse("4000M")),
        ({"cpus": 12}, "cpus", 8),
        ({"nodes": 40}, "nodes", 4),
        ({"preemptible": False}, "preemptible", True),
    ],
)
def test_what_would_make_a_job_fail_is_a_difference(
    facts: dict[str, object], fact: str, cluster: object, tmp_path: Path
) -> None:
    found = differences(known(**facts), seen_bed())
    assert [(one.path, one.cluster, one.taken) for one in found] == [
        (("queues", "partitions", "low", fact), cluster, True)
    ]


@pytest.mark.parametrize("facts", [{"memory": Size.parse("3900M")}, {"cpus": 4}, {"default": False}, {"note": "x"}])
def test_what_a_site_keeps_for_itself_and_what_is_ours_to_choose_is_none(facts: dict[str, object]) -> None:
    """Four cores with two threads each are eight CPUs; and the default of a profile is not Slurm's."""
    assert differences(known(**facts), seen_bed()) == []


def test_more_than_the_profile_says_is_shown_and_not_taken_over() -> None:
    """LUMI has 64 cores in a node and gives jobs 56."""
    (found,) = differences(known(cpus=7), seen_bed())
    assert (found.profile, found.cluster, found.taken) == (7, 8, False)


def test_a_partition_that_is_gone_is_taken_away(tmp_path: Path) -> None:
    old = Partition(name="old", time_limit=Duration(60))
    site = replace(known(), queues=Queues(partitions=(*known().partitions, old)))
    found = differences(site, seen_bed())
    assert [(one.path[-1], one.cluster) for one in found] == [("old", False)]
    assert overlay_text("lab", found, DATE).endswith("[queues.partitions]\nold = false\n")


def test_a_queue_that_is_told_apart_by_its_qos_is_judged_by_that() -> None:
    low, *others = known().partitions
    debug = replace(low, name="debug", flag="low", qos="dbg", time_limit=Duration(3600), running=1)
    site = replace(known(), queues=Queues(partitions=(low, debug, *others)))
    row = QosRow(name="dbg", time_limit=Duration(1800), running=1)
    (found,) = differences(site, replace(seen_bed(), qos=(row,)))
    assert (found.path[-2:], found.cluster) == (("debug", "time_limit"), Duration(1800))


def test_another_model_in_the_nodes(tmp_path: Path) -> None:
    gpu = Gpu(name="a100", per_node=4)
    found = shown(differences(known(gpus=(gpu,)), seen_bed()))
    assert found["queues.partitions.low.gpus.a100"] == ("a100", False)
    assert found["queues.partitions.low.gpus.v100"][0] is None


# ── a site that chooses the partition itself ─────────────────────────────────────────────────────────────────────────

ROUTER = """\
title = "a cluster with a router, as Narval"

[request]
partition = "forbidden"

[fingerprint]
cluster = ["narval"]

[queues]
source = "its documentation"

[queues.partitions."cpu nodes"]
default = true
nodes = 1145
cpus = 64
memory = "256000M"

[queues.partitions."large memory nodes"]
nodes = 33
cpus = 64
memory = "2057500M"

[queues.partitions."gpu nodes"]
time_limit = "7d"
nodes = 159
cpus = 48
memory = "510000M"
gpus.a100 = { per_node = 4, cpus_each = 12, memory_each = "124G" }
gpus."a100_3g.20gb" = { per_node = 1, per_job = 1, slice = true }
gpus."a100_4g.20gb" = { per_node = 1, per_job = 1, slice = true }
"""
NODES = """\
cpubase_bycore_b1*|1140|64|257000|800000|(null)|(null)
cpubase_bynode_b5|700|64|257000|800000|(null)|(null)
cpularge_bycore_b1|33|64|2062000|800000|(null)|(null)
gpubase_bygpu_b1|130|48|510000|3840000|gpu:a100:4(S:0-1)|(null)
gpubase_bygpu_b1|29|48|510000|3840000|gpu:a100_3g.20gb:4,gpu:a100_4g.20gb:2|(null)
"""
NARVAL = from_toml("narval", ROUTER)


def seen_narval(text: str = NODES) -> Seen:
    kinds = node_kinds_from(text)
    rows = partition_rows_from("\n".join(f"PartitionName={name}" for name in {kind.partition for kind in kinds}))
    partitions = partitions_seen(kinds, rows, preempts=False)
    return Seen(cluster="narval", partitions=partitions, kinds=kinds_seen(kinds), scratch="$SCRATCH")


def over_narval(tmp_path: Path, text: str) -> Site:
    (tmp_path / "narval-as-known.toml").write_text(ROUTER)
    return laid_over(tmp_path, "lab", f'extends = "narval-as-known"\n{text}')


def test_its_profile_is_compared_by_what_it_says_and_not_by_names() -> None:
    assert differences(NARVAL, seen_narval()) == []


def test_kinds_of_nodes_that_are_not_there_are_not_mistaken_for_others() -> None:
    """Large nodes that are out of service do not make the small ones large."""
    few = "".join(line for line in NODES.splitlines(keepends=True) if "2062000" not in line)
    (found,) = differences(NARVAL, seen_narval(few))
    assert (found.path[-1], found.cluster, found.taken) == ("large memory nodes", "no nodes like that", False)


def test_new_nodes_come_as_nodes_and_not_as_the_routers_partitions(tmp_path: Path) -> None:
    seen = seen_narval(NODES + "gpubase_new_b1|20|112|2048000|0|gpu:h200:8|(null)\n")
    found = differences(NARVAL, seen)
    assert [one.path for one in found] == [("queues", "partitions", "h200 nodes")]
    site = over_narval(tmp_path, overlay_text("lab", found, DATE))
    assert differences(site, seen) == []
    assert "h200" in site.gpu_names() and site.partitions[0].name == "cpu nodes"
    assert site.queues.source == "voy site probe; its documentation"


def test_a_model_that_is_gone_and_memory_that_is_less(tmp_path: Path) -> None:
    seen = seen_narval(NODES.replace(",gpu:a100_4g.20gb:2", "").replace("510000", "500000"))
    found = differences(NARVAL, seen)
    assert shown(found) == {
        "queues.partitions.gpu nodes.memory": (Size.parse("510000M"), Size.parse("500000M")),
        "queues.partitions.gpu nodes.gpus.a100_4g.20gb": ("a100_4g.20gb", False),
    }
    site = over_narval(tmp_path, overlay_text("lab", found, DATE))
    assert differences(site, seen) == []
    assert "a100_4g.20gb" not in site.gpu_names()


# ── on a node ────────────────────────────────────────────────────────────────────────────────────────────────────────

LOOKED = """\
Welcome to the cluster
voyageur: host=nc30408
voyageur: variable=SLURM_TMPDIR
voyageur: kind=tmpfs
voyageur: size=1048576
voyageur: internet=none
voyageur: pythons= 3.9 3.11
voyageur: containers= apptainer
voyageur: gpus=4
voyageur: looked
"""


def test_what_a_job_saw() -> None:
    look = node_look_from(LOOKED)
    assert look == NodeLook(
        host="nc30408", variable="SLURM_TMPDIR", medium=Medium.MEMORY, size=Size.parse("1G"), internet=Reach.NONE,
        pythons=("3.9", "3.11"), containers=("apptainer",), gpus=4,
    )  # fmt: skip
    assert node_look_from(LOOKED.replace("voyageur: looked\n", "")) is None


def test_it_fills_blanks_and_corrects_what_it_saw_otherwise() -> None:
    profile = replace(EMPTY, local_disk=LocalDisk(variable="SLURM_TMPDIR", medium=Medium.DISK), network=Network())
    found = shown(differences(profile, Seen(node=node_look_from(LOOKED))))
    assert found["local_disk.medium"] == (Medium.DISK, Medium.MEMORY)
    assert found["local_disk.size"] == (None, Size.parse("1G"))
    assert found["network.internet"] == (Reach.UNKNOWN, Reach.NONE)
    assert "local_disk.variable" not in found


def test_a_node_behind_a_proxy_reaches_nothing_by_itself() -> None:
    profile = replace(EMPTY, network=Network(internet=Reach.PROXY))
    assert "network.internet" not in shown(differences(profile, Seen(node=node_look_from(LOOKED))))


# ── the text ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_nothing_that_differs_is_nothing_to_write() -> None:
    assert overlay_text("lab", [], DATE) == ""
    only_shown = Difference(path=("software", "modules"), profile="x", cluster="not there", taken=False)
    assert overlay_text("lab", [only_shown], DATE) == ""


NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\x00|\n"), min_size=1, max_size=12)
KINDS = st.builds(
    NodeKind,
    partition=st.just("p"),
    nodes=st.integers(1, 3000),
    cpus=st.integers(1, 300),
    memory=st.integers(1, 10**7).map(Size.of_mebibytes),
    disk=st.integers(0, 10**7).map(Size.of_mebibytes),
    gpus=st.dictionaries(NAMES, st.integers(1, 16), max_size=3),
)
PARTITIONS = st.dictionaries(NAMES, st.lists(KINDS, min_size=1, max_size=3), min_size=1, max_size=4)


@given(PARTITIONS, st.sampled_from(list(Policy)))
def test_whatever_a_cluster_says_its_profile_can_be_read_back(
    clusters: dict[str, list[NodeKind]], policy: Policy
) -> None:
    kinds = [replace(kind, partition=name) for name, those in clusters.items() for kind in those]
    rows = [replace(row, name=name) for name in clusters for row in partition_rows_from("PartitionName=x MaxTime=1-0")]
    seen = Seen(cluster="c", partitions=partitions_seen(kinds, rows, preempts=False), kinds=kinds_seen(kinds))
    base = replace(EMPTY, request=Request(partition=policy))
    text = overlay_text("lab", differences(base, seen), DATE, "C")
    site = replace(from_toml("lab", text), request=Request())
    assert differences(site, seen) == []
