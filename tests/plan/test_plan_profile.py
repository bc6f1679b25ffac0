"""What a profile's facts make of a wish: queues, whole nodes, GPU counts, disks, modules, networks."""

from typing import Any

import pytest

from tests.plan.wishes import plan
from voyageur.errors import SiteError
from voyageur.plan import Plan
from voyageur.site import Site, Status
from voyageur.site.profile import from_toml
from voyageur.units import Size


def site(text: str) -> Site:
    return from_toml("oak", f'title = "Oak"\n{text}')


def flags(made: Plan) -> list[str]:
    return [directive.flag for directive in made.directives]


def exports(made: Plan) -> dict[str, str]:
    return {export.name: export.value for export in made.exports}


def said(site: Site, **asked: Any) -> str:
    with pytest.raises(SiteError) as caught:
        plan(site, **asked)
    return caught.value.text()


# ── queues ───────────────────────────────────────────────────────────────────────────────────────────────────────────

FEATURES = """
[request]
partition = "forbidden"
[queues.partitions."gpu regular"]
constraint = "gpu"
qos = "regular"
default = true
time_limit = "2d"
gpus.a100 = { per_node = 4, cpus_each = 16, memory_each = "60G" }
[queues.partitions."gpu debug"]
constraint = "gpu"
qos = "debug"
purpose = "debug"
time_limit = "30m"
gpus.a100 = { per_node = 4, cpus_each = 16, memory_each = "60G" }
[queues.partitions."cpu regular"]
constraint = "cpu"
qos = "regular"
cpus = 128
"""


def test_where_queues_are_called_by_feature_and_qos_no_partition_is_named() -> None:
    made = flags(plan(site(FEATURES), gpus=1))
    assert "--constraint=gpu" in made
    assert "--qos=regular" in made
    assert not [flag for flag in made if flag.startswith("--partition")]


def test_a_queue_for_tests_is_only_for_those_who_name_it() -> None:
    assert "--qos=regular" in flags(plan(site(FEATURES), gpus=1, time="10m"))
    assert plan(site(FEATURES), gpus=1, time="10m", qos="debug").queue.place == "gpu debug"


def test_the_users_own_words_are_kept() -> None:
    made = plan(site(FEATURES), gpus=1, constraint="gpu&hbm80g", qos="premium")
    assert made.queue.place == "gpu regular"
    assert {"--constraint=gpu&hbm80g", "--qos=premium"} <= set(flags(made))
    assert plan(site(FEATURES), constraint="cpu").queue.place == "cpu regular"


SAME_PARTITION = """
[request]
partition = "required"
[queues.partitions.normal]
flag = "boost"
time_limit = "1d"
nodes_per_job = 64
default = true
[queues.partitions.long]
flag = "boost"
qos = "lprod"
time_limit = "4d"
nodes_per_job = 8
[queues.partitions.big]
flag = "boost"
qos = "bprod"
time_limit = "1d"
nodes_least = 65
nodes_per_job = 256
"""


@pytest.mark.parametrize(
    ("asked", "qos"),
    [
        ({}, []),
        ({"time": "2d"}, ["--qos=lprod"]),
        ({"nodes": 100}, ["--qos=bprod"]),
        ({"partition": "boost", "time": "3d"}, ["--qos=lprod"]),
        ({"partition": "long"}, ["--qos=lprod"]),
    ],
)
def test_of_several_queues_in_one_partition_the_one_that_fits_is_taken(asked: dict[str, Any], qos: list[str]) -> None:
    made = flags(plan(site(SAME_PARTITION), **asked))
    assert "--partition=boost" in made
    assert [flag for flag in made if flag.startswith("--qos")] == qos


def test_limits_of_a_queue_are_said_before_submitting() -> None:
    oak = site(SAME_PARTITION)
    assert "partition `normal` of oak gives no job 70 nodes" in said(oak, partition="normal", nodes=70)
    assert "is for jobs of 65 nodes or more" in said(oak, partition="big")
    assert "9d is longer than" in said(oak, time="9d")
    assert "5m is shorter than partition `main` of oak takes" in said(
        site('[queues.partitions.main]\ntime_minimum = "15m"\n'), time="5m"
    )


def test_a_queue_that_pushes_jobs_out_is_the_last_to_be_taken() -> None:
    text = "[queues.partitions.cheap]\npreemptible = true\n[queues.partitions.sure]\n"
    assert plan(site(text)).queue.place == "sure"
    assert plan(site(text), partition="cheap").queue.place == "cheap"


def test_a_cluster_that_is_gone_names_its_successor() -> None:
    text = said(site('status = "retired"\nended = "2025-07-31"\nsuccessor = "elm"\n'))
    assert "error: oak is no more\n  Oak: ended 2025-07-31\n\nhint: its successor is elm: `--on elm`" in text
    assert site('status = "retired"\n').status is Status.RETIRED


# ── whole nodes, GPUs, memory ────────────────────────────────────────────────────────────────────────────────────────

GPUS = """
[request]
gpu_flag = "--gpus-per-node={type}{count}"
gpu_type = "required"
[queues.partitions.main]
cpus = 96
memory = "750000M"
gpus.h100 = { per_node = 4, counts = [1, 4], cpus_each = 24, memory_each = "188G", also = ["h100_80gb"] }
gpus."h100_1g.10gb" = { per_node = 1, per_job = 1, counts = [1], cpus_each = 2, memory_each = "15G", slice = true }
"""


def test_only_some_numbers_of_gpus_may_be_had() -> None:
    assert "--gpus-per-node=h100:4" in flags(plan(site(GPUS), gpus=4))
    text = said(site(GPUS), gpus=3)
    assert "gives no job 3 GPUs of a node" in text
    assert "it gives 1 or 4" in text
    assert "hint: ask for `--gpus 4`" in text


def test_a_job_gets_one_slice_and_more_nodes_are_no_way_to_more() -> None:
    text = said(site(GPUS), gpus=2, gpu="h100_1g.10gb")
    assert "a job gets 1 `h100_1g.10gb` at most, not 2" in text
    assert "hint: ask for `--gpus 1`, or for a larger slice or whole GPUs with `--gpu-type`" in text


def test_a_slice_by_its_short_name_is_found_among_long_ones() -> None:
    long = site(GPUS.replace('"h100_1g.10gb"', '"nvidia_h100_80gb_hbm3_1g.10gb"'))
    assert "hint: did you mean `--gpu-type nvidia_h100_80gb_hbm3_1g.10gb`?" in said(long, gpus=1, gpu="h100_1g.10gb")


def test_where_the_model_must_be_named_leaving_it_out_takes_a_certain_one() -> None:
    assert "hint: leave `--gpu-type` out to take `h100`" in said(site(GPUS), gpus=1, gpu="rtx")


def test_where_nobody_names_partitions_no_message_speaks_of_one() -> None:
    text = said(site(FEATURES), gpus=1, qos="debug", time="1h")
    assert text.startswith("error: 1h is longer than `gpu debug` of oak allows")


def test_nobody_who_names_no_gpu_gets_a_slice() -> None:
    made = plan(site(GPUS), gpus=1)
    assert "--gpus-per-node=h100:1" in flags(made)
    assert made.shape.cpus_per_task.value == 24


def test_a_slice_is_had_once_in_a_job() -> None:
    made = plan(site(GPUS), gpu="h100_1g.10gb")
    assert ("--gpus-per-node=h100_1g.10gb:1" in flags(made), made.shape.cpus_per_task.value) == (True, 2)
    assert "a job gets 1 `h100_1g.10gb` at most, not 2" in said(site(GPUS), gpu="h100_1g.10gb", nodes=2)


@pytest.mark.parametrize("name", ["h100_80gb", "H100"])
def test_other_names_for_a_gpu_become_the_sites_own(name: str) -> None:
    assert "--gpus-per-node=h100:1" in flags(plan(site(GPUS), gpu=name))


def test_the_bundles_of_all_gpus_are_no_more_than_a_node_can_give() -> None:
    made = plan(site(GPUS), gpus=4)
    assert made.shape.memory.value == Size.parse("750000M")
    assert "no more than a node can give" in made.shape.memory.because


def test_gpus_of_which_nobody_says_what_comes_with_them_share_the_node() -> None:
    made = plan(site('[queues.partitions.main]\ncpus = 32\nmemory = "480G"\ngpus.a = { per_node = 4 }\n'), gpus=2)
    assert (made.shape.cpus_per_task.value, made.shape.memory.value) == (16, Size.parse("240G"))
    unknown = plan(site("[queues.partitions.main]\ngpus.a = { per_node = 4 }\n"), gpus=2)
    assert (unknown.shape.cpus_per_task.value, unknown.shape.memory.value) == (2, None)
    assert "is not known" in unknown.shape.cpus_per_task.because


WHOLE = '[queues.partitions.main]\nwhole_node = true\ncpus = 192\nmemory = "740000M"\n'


def test_a_whole_node_is_not_asked_for_the_memory_that_only_the_largest_have() -> None:
    mixed = site(WHOLE + 'memory_per_cpu = "1G"\n')
    memory = plan(mixed).shape.memory
    assert memory.value == Size.parse("192G")
    assert memory.because == "oak gives whole nodes: all of the memory that most have"
    assert plan(site(WHOLE)).shape.memory.value == Size.parse("740000M")


def test_where_nodes_are_given_whole_all_of_it_is_used() -> None:
    made = plan(site(WHOLE))
    assert (made.shape.cpus_per_task.value, made.shape.memory.value) == (192, Size.parse("740000M"))
    assert plan(site(WHOLE), tasks=4).shape.cpus_per_task.value == 48


@pytest.mark.parametrize(("policy", "word"), [("ignored", "ignores"), ("forbidden", "refuses")])
def test_memory_is_not_named_where_the_site_will_not_hear_of_it(policy: str, word: str) -> None:
    made = plan(site(f'[request]\nmemory = "{policy}"\n{WHOLE}'))
    assert not [flag for flag in flags(made) if flag.startswith("--mem")]
    assert f"oak {word} `--mem`" in made.shape.memory.because


def test_gpus_that_come_with_the_node_are_not_asked_for() -> None:
    text = (
        '[request]\ngpu_flag = ""\n[queues.partitions.gh]\nwhole_node = true\ncpus = 72\ngpus.h200 = { per_node = 1 }\n'
    )
    made = plan(site(text), gpus=1)
    assert not [flag for flag in flags(made) if "gpu" in flag or "gres" in flag]
    assert made.shape.gpus.value == 1


def test_a_model_that_the_partition_tells_is_not_said_twice() -> None:
    text = '[request]\ngpu_flag = "--gpus-per-node={type}{count}"\ngpu_type = "forbidden"\n'
    text += (
        "[queues.partitions.a40]\ngpus.a40 = { per_node = 4 }\n[queues.partitions.a100]\ngpus.a100 = { per_node = 4 }\n"
    )
    assert {"--gpus-per-node=2", "--partition=a100"} <= set(flags(plan(site(text), gpus=2, gpu="a100")))


# ── disks, modules, networks ─────────────────────────────────────────────────────────────────────────────────────────


def test_room_on_the_node_is_asked_for_in_the_words_of_the_site() -> None:
    assert "--tmp=307200M" in flags(plan(site(WHOLE), disk="300G"))
    own = site(f'[local_disk]\nrequest = "--gres=tmpfs:{{size}}"\nsize = "3T"\n{WHOLE}')
    assert "--gres=tmpfs:307200M" in flags(plan(own, disk="300G"))
    assert "has no 4T of disk a node" in said(own, disk="4T")


def test_without_a_variable_of_the_sites_the_node_folder_is_made_where_its_disks_are() -> None:
    assert exports(plan(site(f'[local_disk]\npath = "/scratch-ssd"\n{WHOLE}')))["VOY_TMP_BASE"] == '"/scratch-ssd"'
    assert "VOY_TMP_BASE" not in exports(plan(site(f'[local_disk]\nvariable = "SLURM_TMPDIR"\npath = "/l"\n{WHOLE}')))


def test_modules_that_are_asked_for_come_after_the_sites_own_stack() -> None:
    oak = site(f'[software]\nmodules = ["StdEnv/2023"]\n{WHOLE}')
    assert plan(oak).modules.value == ("StdEnv/2023",)
    assert plan(oak, env__modules=["scipy-stack"]).modules.value == ("StdEnv/2023", "scipy-stack")
    assert plan(oak, env__modules=["StdEnv/2020", "cuda"]).modules.value == ("StdEnv/2020", "cuda")
    assert plan(oak, env__modules=[]).modules.value == ()


NETWORK = f'[network]\nvariables = {{ NCCL_SOCKET_IFNAME = "ib0" }}\n{WHOLE}'


def test_the_network_is_told_to_jobs_of_several_nodes() -> None:
    assert exports(plan(site(NETWORK), nodes=2))["NCCL_SOCKET_IFNAME"] == "ib0"
    assert "NCCL_SOCKET_IFNAME" not in exports(plan(site(NETWORK)))
    mine = plan(site(NETWORK), nodes=2, env__variables={"NCCL_SOCKET_IFNAME": "eth0"})
    assert [export.value for export in mine.exports if export.name == "NCCL_SOCKET_IFNAME"] == ["eth0"]


def test_flags_that_every_job_needs_and_flags_that_none_may_have() -> None:
    made = flags(plan(site(f'[request]\nextra = ["--hint=nomultithread"]\nexport = "forbidden"\n{WHOLE}')))
    assert "--hint=nomultithread" in made
    assert not [flag for flag in made if flag.startswith("--export")]
