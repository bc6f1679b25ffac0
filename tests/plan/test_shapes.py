"""Other shapes of the same wish: what they are called, what they change, and what they say of themselves."""

from typing import Any

import pytest
from msgspec.structs import replace

from tests.plan.wishes import CLUSTER, CODE, MACHINE, STRICT, gpu, wish
from voyageur.allowance import Account
from voyageur.plan import Identity, Plan, Surroundings, make_plan
from voyageur.plan.shapes import Alternative, alternatives, with_changes
from voyageur.site import Partition, Queues, Site, load_profile
from voyageur.site.facts import Times
from voyageur.units import Duration, Size

NARVAL = load_profile("narval")
AROUND = Surroundings(scratch="/scratch")


def shapes(site: Site, around: Surroundings = AROUND, **asked: Any) -> dict[str, Alternative]:
    return {one.name: one for one in alternatives(wish(**asked), site, around)}


def planned(site: Site, name: str, around: Surroundings = AROUND, **asked: Any) -> Plan:
    spec = wish(**asked)
    chosen = shapes(site, around, **asked)[name]
    return make_plan(with_changes(spec, chosen), site, around, Identity(slug="train", token="0123456789ab"), CODE)


def test_what_was_asked_comes_first() -> None:
    first = alternatives(wish(gpus=4, time="30h"), NARVAL, AROUND)[0]
    assert (first.name, first.what, first.changes) == ("as-asked", "1 node with 4 a100 GPUs for 30h", {})


def test_the_tier_below_as_a_chain() -> None:
    chain = shapes(NARVAL, gpus=4, time="30h")["chain-24h"]
    assert (chain.pieces, chain.changes) == (2, {"resources.time": Duration.parse("24h")})
    assert "must save" in chain.means
    assert planned(NARVAL, "chain-24h", gpus=4, time="30h").shape.time.because == "asked for by --shape chain-24h"


@pytest.mark.parametrize(
    ("time", "chain", "pieces"), [("24h", "chain-12h", 2), ("73h", "chain-72h", 2), ("7d", "chain-72h", 3)]
)
def test_a_tier_is_left_for_the_one_below(time: str, chain: str, pieces: int) -> None:
    assert shapes(NARVAL, time=time)[chain].pieces == pieces


def test_nobody_cuts_what_is_short_already() -> None:
    assert list(shapes(NARVAL, time="3h")) == ["as-asked"]
    short = replace(CLUSTER, times=Times(tiers=(Duration(600),)))
    assert not [name for name in shapes(short, time="2h") if name.startswith("chain")]


def test_what_is_too_long_for_the_site_can_still_be_a_chain() -> None:
    day = replace(NARVAL, times=replace(NARVAL.times, maximum=Duration.parse("24h"), tiers=()))
    day = replace(day, queues=Queues(partitions=(Partition(name="all", time_limit=Duration.parse("24h")),)))
    assert shapes(day, time="60h")["chain-24h"].pieces == 3


def test_half_the_nodes_for_twice_the_time() -> None:
    half = shapes(CLUSTER, nodes=5, time="3h")["nodes-2"]
    assert half.changes == {"resources.nodes": 2, "resources.time": Duration.parse("7h30m")}
    assert "if the program scales, which is assumed" in half.means


def test_half_the_gpus_with_what_was_asked_beside_them() -> None:
    half = shapes(CLUSTER, gpus=4, cpus=16, memory="100G", time="2h")["gpus-2"]
    assert half.changes == {
        "resources.gpus": 2,
        "resources.cpus": 8,
        "resources.memory": Size.parse("50G"),
        "resources.time": Duration.parse("4h"),
    }


def test_only_numbers_of_gpus_that_the_site_gives() -> None:
    """Trillium gives one or four."""
    partition = next(one for one in NARVAL.partitions if one.gpu("a100", 4))
    odd = replace(partition, gpus=(replace(partition.gpus[0], counts=(1, 4)),))
    assert "gpus-1" in shapes(replace(NARVAL, queues=Queues(partitions=(odd,))), gpus=4)
    whole = replace(partition, gpus=(replace(partition.gpus[0], counts=(4,)),))
    assert list(shapes(replace(NARVAL, queues=Queues(partitions=(whole,))), gpus=4, time="3h")) == ["as-asked"]


def test_another_partition_that_fits() -> None:
    long = replace(CLUSTER.partitions[0], name="long", default=False, time_limit=Duration.parse("7d"))
    site = replace(CLUSTER, queues=Queues(partitions=(*CLUSTER.partitions, long)))
    other = shapes(site, time="1h")["partition-long"]
    assert (other.changes, other.means) == ({"partition": "long"}, "its limit is 168h")
    assert "--partition=long" in [line.flag for line in planned(site, "partition-long", time="1h").directives]
    assert list(shapes(site, gpus=1, time="1h")) == ["as-asked"]


def test_nodes_with_gpus_are_not_for_jobs_without() -> None:
    assert "partition-gpus" not in shapes(CLUSTER, time="1h")


def test_queues_for_the_few_are_not_offered() -> None:
    few = replace(CLUSTER.partitions[0], name="few", default=False, restricted=True)
    site = replace(CLUSTER, queues=Queues(partitions=(CLUSTER.partitions[0], few)))
    assert list(shapes(site, time="1h")) == ["as-asked"]


def test_another_model_is_said() -> None:
    other = replace(CLUSTER.partitions[1], name="cheap", gpus=(gpu("a40", 4),))
    site = replace(CLUSTER, queues=Queues(partitions=(CLUSTER.partitions[1], other)))
    assert shapes(site, gpus=1)["partition-cheap"].means == "its limit is 168h; its GPUs are a40"


def test_queues_that_cannot_run_a_piece_cut_no_chain() -> None:
    day = replace(CLUSTER.partitions[0], name="day", time_limit=Duration.parse("24h"), gpus=(gpu("a100", 1),))
    site = replace(CLUSTER, queues=Queues(partitions=(CLUSTER.partitions[1], day)))
    assert "chain-24h" in shapes(site, gpus=1, time="30h")
    assert "chain-24h" not in shapes(site, gpus=2, time="30h")


def test_where_the_site_chooses_the_partition_none_is_offered() -> None:
    assert not [name for name in shapes(STRICT, account="def-x", time="1h") if name.startswith("partition")]


def test_a_queue_that_is_called_by_its_qos() -> None:
    first, second = (
        Partition(name=name, qos=qos, default=not spot, preemptible=bool(spot), charge=1 - spot / 2)
        for spot, (name, qos) in enumerate((("regular", "normal"), ("cheap", "low")))
    )
    site = replace(STRICT, queues=Queues(partitions=(first, second)))
    other = shapes(site, account="x")["qos-low"]
    assert other.changes == {"qos": "low"}
    assert "stopped whenever others want the nodes" in other.means and "charged 0.5 times" in other.means


def test_another_account_with_its_fair_share() -> None:
    accounts = (Account(name="def-a", fair_share=0.4), Account(name="rrg-b", fair_share=2.5))
    around = replace(AROUND, accounts=accounts)
    (other,) = [one for name, one in shapes(NARVAL, around, gpus=1).items() if name.startswith("account")]
    assert (other.name, other.changes) == ("account-def-a", {"account": "def-a"})
    assert "its fair share is 0.40" in other.means
    assert planned(NARVAL, "account-def-a", around, gpus=1).account.value == "def-a"
    assert "account-rrg-b" in shapes(NARVAL, around, gpus=1, account="def-a")


def test_no_more_than_five_and_the_same_each_time() -> None:
    accounts = (Account(name="a", fair_share=0.4), Account(name="b", fair_share=2.5))
    many = replace(
        CLUSTER,
        times=Times(tiers=(Duration.parse("3h"), Duration.parse("12h"))),
        queues=Queues(partitions=tuple(replace(CLUSTER.partitions[1], name=f"p{n}", default=not n) for n in range(5))),
    )
    asked = {"nodes": 2, "time": "20h"}
    found = [list(shapes(many, replace(AROUND, accounts=accounts), **asked)) for _ in range(2)]
    assert found[0] == found[1] == ["as-asked", "chain-12h", "nodes-1", "partition-p1", "account-a"]


def test_this_machine_has_no_queue() -> None:
    assert list(shapes(MACHINE, time="30h")) == ["as-asked"]
