"""Sites: written by hand, or made by asking."""

from pathlib import Path

import pytest

from voyageur.errors import SiteError
from voyageur.site import Policy, local_site, site_from_answers
from voyageur.site.profile import from_toml
from voyageur.units import Duration, Size

RECORDED = Path(__file__).parents[1] / "recorded"


def recorded(name: str) -> str:
    return (RECORDED / name).read_text(encoding="utf-8")


START = 'title = "T"\n'


@pytest.mark.parametrize(
    "text",
    [
        START + '[request]\nacount = "required"\n',
        START + "[queues.partitions.p]\ncpuss = 4\n",
        START + '[queues.partitions.p.gpus.g]\nper_node = 4\ncpus_each = 1\nmemory_each = "1G"\nmemory = "1G"\n',
        START + '[request]\naccount = "perhaps"\n',
        START + '[queues.partitions.p]\ntime_limit = "7 fortnights"\n',
        START + "[queues.partitions.p]\nmemory = 4000\n",
        START + '[queues.partitions.p]\ncpus = "many"\n',
        START + "[queues.partitions]\ncpus = 4\n",
        'extends = "any-alliance"\n[access]\nlogn = ["h"]\n',
        "login = 4\n",
        START + "extends = 4\n",
        START + "[access\n",
    ],
)
def test_a_profile_with_a_mistake_is_an_error_and_not_a_guess(text: str) -> None:
    with pytest.raises(SiteError, match="the profile of x is not right"):
        from_toml("x", text)


def test_a_smallest_profile_promises_nothing() -> None:
    site = from_toml("x", START)
    assert (site.partitions, site.request.account, site.software.modules) == ((), Policy.OPTIONAL, ())


def test_a_site_made_from_the_recorded_answers_of_a_real_cluster() -> None:
    site = site_from_answers(recorded("sinfo.txt"), recorded("scontrol-show-config.txt"))
    assert (site.name, site.engine, site.title) == ("slurm", "slurm", "the Slurm cluster bed")
    assert (site.kill_wait, site.message_timeout) == (Duration(5), Duration(10))
    assert [partition.name for partition in site.partitions] == ["low", "lowg", "lowc", "high", "short"]
    low, *_, short = site.partitions
    assert (low.default, low.nodes, low.cpus, low.memory) == (True, 4, 8, Size.parse("4000M"))
    assert (low.time_limit, short.time_limit) == (Duration.parse("1d"), Duration.parse("10m"))
    assert site.gpu_names() == ["v100"]


def test_nodes_that_are_busy_and_nodes_that_are_idle_are_one_kind_of_gpu() -> None:
    site = site_from_answers(recorded("sinfo.txt"), "")
    (gpu,) = site.partitions[0].gpus
    assert (gpu.name, gpu.per_node, gpu.cpus_each, gpu.memory_each) == ("v100", 4, 2, Size.parse("1000M"))


def test_a_partition_is_as_large_as_its_largest_node() -> None:
    """What fits on the few big nodes must not be refused because most nodes are small."""
    site = site_from_answers("main*|1-00:00:00|10|8|16000|(null)|idle\nmain*|1-00:00:00|2|64|512000|(null)|idle\n", "")
    (main,) = site.partitions
    assert (main.nodes, main.cpus, main.memory) == (12, 64, Size.parse("512000M"))


def test_a_cluster_that_says_nothing_gives_a_site_that_knows_nothing() -> None:
    site = site_from_answers("", "")
    assert (site.partitions, site.title) == ((), "the Slurm cluster")
    assert (site.kill_wait, site.message_timeout) == (Duration(30), Duration(10))


def test_this_machine_is_a_site() -> None:
    site = local_site()
    (machine,) = site.partitions
    assert site.engine == "local"
    assert machine.cpus >= 1
    assert machine.memory > Size.parse("64M")
    assert machine.time_limit is None
