"""What each style makes of a command, line by line; and what it refuses."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from tests.plan.wishes import CLUSTER, CODE, MACHINE, gpu, plan, wish
from voyageur.errors import SpecError
from voyageur.launch import Style, Tasks, Wanted, names, style_named, titles
from voyageur.launch.catalogue import TITLES
from voyageur.launch.mpi import Mpi
from voyageur.launch.signs import recognise, signs_in
from voyageur.launch.style import RANK
from voyageur.plan import Identity, Plan, Surroundings, make_plan
from voyageur.site import Queues, Request, Site
from voyageur.site.facts import Network

pytest_plugins = ["tests.golden"]
Golden = Callable[[str, str], None]
SETS = ("OMP_NUM_THREADS", "MASTER_ADDR")


def launch_text(made: Plan) -> str:
    """All of a plan that concerns the launch, one thing a line."""
    own = [
        f"{export.name}={export.value}"
        for export in made.exports
        if export.name in SETS or (not export.name.startswith(("VOY_RUN_DIR", "PYTHON")) and _concerns(export.because))
    ]
    flags = [line.flag for line in made.directives if "task" in line.flag or "gres" in line.flag]
    command = shlex.join(made.command[made.launcher.taken :])
    words = [" ".join(made.launch_words), " ".join(made.launcher.words), command]
    return "\n".join([*flags, *own, *words]) + "\n"


def _concerns(because: str) -> bool:
    words = ("launch ", "node", "task", "rank", "does not work without", "ports", "all are there", "beside")
    return any(word in because for word in words) and "disk" not in because


@pytest.mark.parametrize("style", [name for name in TITLES if name not in ("plain", "custom", "spark")])
def test_two_nodes_with_four_gpus_each(golden: Golden, style: str) -> None:
    golden(f"{style}.txt", launch_text(plan(CLUSTER, nodes=2, gpus=4, launch__with=style)))


def test_spark_on_two_nodes(golden: Golden) -> None:
    golden("spark.txt", launch_text(plan(CLUSTER, nodes=2, cpus=8, memory="32G", launch__with="spark")))


def test_torchrun_with_restarts(golden: Golden) -> None:
    golden(
        "torchrun-restarts.txt",
        launch_text(plan(CLUSTER, nodes=2, gpus=4, launch__with="torchrun", launch__restarts=3)),
    )


def test_a_line_of_ones_own(golden: Golden) -> None:
    golden("custom.txt", launch_text(plan(CLUSTER, nodes=2, launch__line="mine --node {NODE_RANK}")))


@pytest.mark.parametrize("name", TITLES)
def test_titles_and_names_are_those_of_the_styles(name: str) -> None:
    style = style_named(name)
    assert style is not None
    assert (style.name, style.title) == (name, TITLES[name])
    assert style.death and style.signal


# ── who starts MPI ranks ─────────────────────────────────────────────────────────────────────────────────────────────


def started_by(site: Site, **asked: Any) -> str:
    return " ".join(word for word in plan(site, launch__with="mpi", tasks=2, **asked).launch_words if "/" not in word)


@pytest.mark.parametrize(
    ("request_", "asked", "begins", "holds"),
    [
        (Request(), {}, "srun", ""),
        (Request(mpi="pmix"), {}, "srun", "--mpi=pmix"),
        (Request(mpi="none"), {}, "mpirun -n 4", ""),
        (Request(mpi="none"), {"launch__mpi": "pmi2"}, "srun", "--mpi=pmi2"),
        (Request(), {"launch__mpi": "mpirun"}, "mpirun -n 4", ""),
        (Request(launcher="ibrun"), {}, "ibrun", ""),
    ],
)
def test_mpi_ranks_are_started_by_whom_the_site_says(
    request_: Request, asked: dict[str, Any], begins: str, holds: str
) -> None:
    site = Site(name="s", engine="slurm", title="", queues=CLUSTER.queues, request=request_)
    words = started_by(site, nodes=2, **asked)
    assert words.startswith(begins) and holds in words


def test_without_slurm_mpirun_starts_them() -> None:
    assert started_by(MACHINE).startswith("mpirun -n 2")


@pytest.mark.parametrize(
    ("command", "starter", "taken", "last"),
    [
        (("python", "-u", "pi.py", "8"), "", 2, ["python", "-u"]),
        (("python", "-m", "pkg.pi"), "mpirun", 1, ["python"]),
        (("python", "-m", "mpi4py", "-m", "pkg.pi"), "pmix", 3, ["python"]),
        (("mpirun", "-n", "4", "python", "pi.py"), "mpirun", 4, ["python"]),
    ],
)
def test_a_program_of_mpi4pys_is_watched_while_it_looks_for_the_other_ranks(
    command: tuple[str, ...], starter: str, taken: int, last: list[str]
) -> None:
    wanted = Wanted(command=command, nodes=2, ranks=2, mpi=starter or None, mpi4py="mpi4py" not in command)
    made = Mpi().launcher(wanted)
    by = {"": "srun", "pmix": "srun --mpi=pmix"}.get(starter, starter)
    assert made.taken == taken
    assert list(made.words[len(RANK) :]) == [*last, "$VOY_RUN_DIR/runtime.pyz", "world", "--", by]


@pytest.mark.parametrize("command", [("./pi", "mpi4py"), ("python", "-c", "import mpi4py"), ("python", "other.py")])
def test_what_is_not_mpi4pys_is_started_as_it_is(command: tuple[str, ...]) -> None:
    made = Mpi().launcher(Wanted(command=command, ranks=2))
    assert (made.words, made.taken) == (RANK, 0)


# ── what the command says already ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("command", "style", "taken", "last"),
    [
        (("torchrun", "--nproc_per_node=4", "train.py", "--lr", "1"), "torchrun", 2, "python"),
        (("/env/bin/torchrun", "--standalone", "-m", "pkg.train"), "torchrun", 2, "/env/bin/python"),
        (("python", "-m", "torch.distributed.run", "train.py"), "torchrun", 3, "python"),
        (("accelerate", "launch", "--mixed_precision", "bf16", "train.py"), "accelerate", 4, "python"),
        (("deepspeed", "train.py", "--deepspeed"), "deepspeed", 1, "python"),
        (("horovodrun", "-np", "8", "python", "train.py"), "horovod", 4, "python"),
        (("torchrun", "--nproc-per-node=4", "--module", "pkg.train"), "torchrun", 3, "-m"),
        (("accelerate", "launch", "--module", "pkg.train"), "accelerate", 3, "-m"),
        (("deepspeed", "--num_gpus", "4", "--module", "pkg.train"), "deepspeed", 4, "-m"),
    ],
)
def test_a_launcher_in_the_command_is_taken_over(command: tuple[str, ...], style: str, taken: int, last: str) -> None:
    made = plan(CLUSTER, nodes=2, gpus=4, command=command)
    assert (made.launch.value, made.launcher.taken) == (style, taken)
    assert made.launcher.words[-1] == last
    assert "--standalone" not in made.launcher.words


def test_its_own_options_stay_behind_ours_so_that_they_win() -> None:
    made = plan(CLUSTER, gpus=4, command=("torchrun", "--max-restarts=7", "--nproc_per_node=4", "train.py"))
    assert made.launcher.words.index("--max-restarts=7") > made.launcher.words.index("--nproc-per-node=4")


def test_mpirun_of_several_nodes_starts_all_ranks_once() -> None:
    made = plan(CLUSTER, nodes=2, command=("mpirun", "-n", "8", "./program"))
    assert (made.launch.value, made.shape.ranks.value, made.launcher.taken) == ("mpi", 4, 3)
    assert plan(CLUSTER, command=("mpirun", "-n", "8", "./program")).launch.value == "plain"


@pytest.mark.parametrize("own", ["--max-restarts=3", "--rdzv_backend=c10d"])
def test_agents_that_must_be_able_to_meet_again_are_told_where(own: str) -> None:
    made = plan(CLUSTER, nodes=2, gpus=4, command=("torchrun", "--nnodes=2", own, "train.py"))
    assert "--rdzv-endpoint={MASTER_ADDR}:{MASTER_PORT}" in made.launcher.words
    assert "TORCH_DISABLE_SHARE_RDZV_TCP_STORE" in {export.name for export in made.exports}


@pytest.mark.parametrize(
    ("command", "port"),
    [
        (("torchrun", "--master_port", "29500", "train.py"), "29500"),
        (("torchrun", "--master-port=0", "train.py"), None),
        (("accelerate", "launch", "--main_process_port=29501", "train.py"), "29501"),
        (("torchrun", "train.py", "--master_port=29500"), None),
    ],
)
def test_a_port_in_the_command_is_tried_out_before_anything_starts(command: tuple[str, ...], port: str | None) -> None:
    told = {export.name: export.value for export in plan(CLUSTER, nodes=2, gpus=4, command=command).exports}
    assert told.get("MASTER_PORT") == port


def test_a_number_that_is_filled_in_on_each_node_is_no_reason_to_refuse() -> None:
    command = ("torchrun", "--nnodes=2", "--node_rank={NODE_RANK}", "train.py")
    assert "--node_rank={NODE_RANK}" in plan(CLUSTER, nodes=2, gpus=4, command=command).launcher.words


def test_a_meeting_place_of_ones_own_stays_alone() -> None:
    command = ("torchrun", "--rdzv_backend=c10d", "--rdzv_endpoint", "head:29400", "train.py")
    words = plan(CLUSTER, nodes=2, gpus=4, command=command).launcher.words
    assert not any("{MASTER_ADDR}" in word or "is_host" in word for word in words)


def test_the_number_in_the_command_counts_where_no_gpu_does() -> None:
    assert plan(CLUSTER, command=("torchrun", "--nproc_per_node=3", "train.py")).shape.ranks.value == 3


# ── what is refused ──────────────────────────────────────────────────────────────────────────────────────────────────

REFUSED: dict[str, dict[str, Any]] = {
    "more-ranks-than-gpus": {"gpus": 2, "tasks": 4, "launch__with": "torchrun"},
    "gpus-for-spark": {"nodes": 2, "gpus": 1, "launch__with": "spark"},
    "no-python": {"gpus": 2, "command": ("./train", "x"), "launch__with": "lightning"},
    "python-c": {"gpus": 2, "command": ("python", "-c", "print(1)"), "launch__with": "torchrun"},
    "command-says-eight": {"gpus": 4, "command": ("torchrun", "--nproc_per_node", "8", "train.py")},
    "accelerate-says-four": {"nodes": 2, "gpus": 4, "command": ("accelerate", "launch", "--num_processes=4", "t.py")},
    "accelerate-says-seven": {"nodes": 2, "gpus": 4, "command": ("accelerate", "launch", "--num_processes=7", "t.py")},
    "horovodrun-says-four": {"nodes": 2, "gpus": 4, "command": ("horovodrun", "-np", "4", "python", "train.py")},
    "mpirun-says-eight": {
        "nodes": 2,
        "tasks": 2,
        "launch__with": "mpi",
        "command": ("mpirun", "-n", "8", "./program"),
    },
    "torchrun-for-four-nodes": {"nodes": 2, "gpus": 4, "command": ("torchrun", "--nnodes=4", "train.py")},
    "torchrun-as-node-0": {"nodes": 2, "gpus": 4, "command": ("torchrun", "--node_rank", "0", "train.py")},
    "torchrun-at-localhost": {
        "nodes": 2,
        "gpus": 4,
        "command": ("torchrun", "--rdzv-endpoint=localhost:29500", "train.py"),
    },
    "torchrun-with-shell": {"nodes": 2, "gpus": 4, "command": ("torchrun", "--nnodes=$SLURM_NNODES", "train.py")},
    "srun-in-the-command": {"nodes": 2, "command": ("srun", "python", "train.py")},
    "launcher-without-program": {"gpus": 4, "command": ("torchrun", "--no-python", "./train.sh")},
    "restarts-of-jax": {"nodes": 2, "launch__with": "jax", "launch__restarts": 2},
    "custom-without-line": {"nodes": 2, "launch__with": "custom"},
    "mpirun-with-options": {
        "nodes": 2,
        "launch__with": "mpi",
        "command": ("mpirun", "--bind-to", "core", "./program"),
    },
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_work_is_said_before_submitting(golden: Golden, name: str) -> None:
    with pytest.raises(SpecError) as raised:
        plan(CLUSTER, **REFUSED[name])
    golden(f"refused-{name}.txt", raised.value.text() + "\n")


LIGHTNING = "import lightning as L\ntrainer = L.{name}(devices={devices}, num_nodes={nodes})\n"
SPAWN = "import torch.multiprocessing as mp\nmp.spawn(main, nprocs={workers})\n"


def of_text(*texts: str, **asked: Any) -> Plan:
    found = recognise([sign for number, text in enumerate(texts) for sign in signs_in(f"fit{number or ''}.py", text)])
    around, identity = Surroundings(scratch="/s"), Identity(slug="a", token="0" * 12)
    return make_plan(wish(**asked), CLUSTER, around, identity, CODE, (), found)


def trainer(devices: int, nodes: int, name: str = "Trainer") -> str:
    return LIGHTNING.format(name=name, devices=devices, nodes=nodes)


@pytest.mark.parametrize("name", ["Trainer", "Fabric"])
def test_a_trainer_and_the_wish_must_agree(name: str) -> None:
    assert of_text(trainer(4, 2, name), gpus=4, nodes=2).launch.because == f"fit.py:2 calls lightning.{name}"
    with pytest.raises(SpecError, match=f"its {name} 2 devices, but 4 GPUs"):
        of_text(trainer(2, 2, name), gpus=4, nodes=2)
    with pytest.raises(SpecError, match=f"its {name} num_nodes=1, but 2 nodes"):
        of_text(trainer(4, 1, name), gpus=4, nodes=2)
    with pytest.raises(SpecError, match=f"its {name} 4 devices, but 2 ranks"):
        of_text(trainer(4, 2, name), tasks=2, nodes=2)


def test_a_second_trainer_for_the_laptop_is_no_reason_to_refuse() -> None:
    assert of_text(trainer(1, 1), trainer(4, 2), gpus=4, nodes=2).launch.value == "lightning"


def test_a_trainers_devices_count_where_no_gpu_does() -> None:
    assert of_text(trainer(3, 2), nodes=2).shape.ranks.value == 3


@pytest.mark.parametrize("package", ["lightning", "pytorch_lightning"])
def test_lightning_is_looked_for_by_the_name_that_the_program_imports(package: str) -> None:
    told = of_text(f"from {package} import Trainer\nTrainer()\n", gpus=4).exports
    assert [export.value for export in told if export.name == "VOY_NEEDS"] == [f"python {package}"]


# ── workers that the program starts itself ───────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("workers", ["4", "torch.cuda.device_count()"])
def test_spawned_workers_share_the_cores_of_their_node(workers: str) -> None:
    made = of_text(SPAWN.format(workers=workers), gpus=4, cpus=8)
    told = {export.name: export.value for export in made.exports}
    assert (made.launch.value, made.shape.tasks_per_node.value) == ("per-node", 1)
    assert made.shape.cpus_per_task.value == 8 and told["OMP_NUM_THREADS"] == "2"


def test_more_of_them_than_gpus_are_refused() -> None:
    with pytest.raises(SpecError, match="starts 8 workers, but 4 GPUs a node"):
        of_text(SPAWN.format(workers="8"), gpus=4)


@pytest.mark.parametrize("style", ["per-rank", "mpi"])
def test_ranks_that_share_a_gpu_are_told_of(style: str) -> None:
    assert any("NCCL refuses" in note for note in plan(CLUSTER, gpus=2, tasks=4, launch__with=style).notes)
    assert not any("NCCL" in note for note in plan(CLUSTER, gpus=4, tasks=4, launch__with=style).notes)


# ── the site's network, and styles of others ─────────────────────────────────────────────────────────────────────────


def test_the_profiles_interface_and_suffix_reach_the_job() -> None:
    site = Site(
        name="s", engine="slurm", title="", queues=CLUSTER.queues, network=Network(interface="hsn", master_suffix="i")
    )
    told = {export.name: export.value for export in plan(site, nodes=2, launch__with="per-rank").exports}
    assert (told["VOY_INTERFACE"], told["VOY_MASTER_SUFFIX"]) == ("hsn", "i")


class Theirs(Style):
    name = "theirs"
    title = "somebody else's"
    tasks = Tasks.RANKS


class Point:
    name = "theirs"
    value = "their.package:Theirs"
    dist = None

    @staticmethod
    def load() -> type[Style]:
        return Theirs


def test_a_style_of_another_package_is_found_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def entry_points(group: str) -> list[type[Point]]:
        asked.append(group)
        return [Point]

    monkeypatch.setattr("importlib.metadata.entry_points", entry_points)
    assert style_named("torchrun") is not None
    assert asked == [], "others are not looked up for a name of ours"
    assert plan(CLUSTER, gpus=2, launch__with="theirs").shape.tasks_per_node.value == 2
    assert "theirs" in titles() and "theirs" not in names()


# ── copies that share a GPU ──────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("asked", "mps"),
    [
        ({"launch__with": "replicas", "tasks": 4}, "auto"),
        ({"launch__with": "replicas", "tasks": 2}, None),
        ({"launch__with": "replicas", "tasks": 4, "launch__mps": "false"}, None),
        ({"launch__with": "per-rank", "tasks": 4}, None),
        ({"launch__with": "per-rank", "tasks": 4, "launch__mps": "true"}, "1"),
    ],
)
def test_copies_that_share_a_gpu_work_at_once(asked: dict[str, Any], mps: str | None) -> None:
    told = {export.name: export.value for export in plan(CLUSTER, gpus=2, **asked).exports}
    assert told.get("VOY_MPS") == mps


def test_without_a_gpu_there_is_nothing_to_share() -> None:
    with pytest.raises(SpecError, match="none is asked for"):
        plan(CLUSTER, tasks=2, launch__with="replicas", launch__mps="true")


def test_one_process_has_nobody_to_share_a_gpu_with() -> None:
    with pytest.raises(SpecError, match="`plain` starts one"):
        plan(CLUSTER, gpus=1, launch__mps="true")


# ── binding ──────────────────────────────────────────────────────────────────────────────────────────────────────────

BOUND = Site(
    name="bound",
    engine="slurm",
    title="",
    queues=CLUSTER.queues,
    request=Request(cpu_bind="cores", gpu_bind="closest"),
)


@pytest.mark.parametrize(
    ("site", "asked", "flags"),
    [
        (CLUSTER, {"launch__with": "per-rank"}, []),
        (CLUSTER, {"launch__with": "per-rank", "launch__gpu_bind": "single:1"}, ["--gpu-bind=single:1"]),
        (CLUSTER, {"launch__with": "torchrun", "launch__cpu_bind": "none"}, ["--cpu-bind=none"]),
        (BOUND, {"launch__with": "per-rank"}, ["--cpu-bind=cores", "--gpu-bind=closest"]),
        (BOUND, {"launch__with": "torchrun"}, ["--cpu-bind=cores"]),
        (BOUND, {"launch__with": "per-rank", "launch__gpu_bind": "none"}, ["--cpu-bind=cores", "--gpu-bind=none"]),
        (MACHINE, {"launch__with": "per-rank", "launch__cpu_bind": "none", "gpus": 0, "tasks": 2}, []),
    ],
)
def test_srun_is_told_of_binding_what_the_user_or_the_site_says(
    site: Site, asked: dict[str, Any], flags: list[str]
) -> None:
    words = plan(site, **({"gpus": 4} | asked)).launch_words
    assert [word for word in words if "-bind=" in word] == flags


BINDING_REFUSED: dict[str, dict[str, Any]] = {
    "binding-of-a-launcher": {"gpus": 4, "launch__with": "torchrun", "launch__gpu_bind": "closest"},
    "binding-of-mpirun": {"tasks": 4, "launch__with": "mpi", "launch__mpi": "mpirun", "launch__cpu_bind": "cores"},
    "binding-without-gpus": {"tasks": 4, "launch__with": "per-rank", "launch__gpu_bind": "closest"},
    "binding-of-plain": {"launch__cpu_bind": "cores"},
}


@pytest.mark.parametrize("name", BINDING_REFUSED)
def test_binding_that_would_fight_the_launcher_is_refused(golden: Golden, name: str) -> None:
    with pytest.raises(SpecError) as raised:
        plan(CLUSTER, **BINDING_REFUSED[name])
    golden(f"refused-{name}.txt", raised.value.text() + "\n")


def test_nodes_that_are_one_machine_share_its_gpus_and_the_plan_says_so() -> None:
    partition = replace(MACHINE.partitions[0], gpus=(gpu("", 1),))
    machine = replace(MACHINE, queues=Queues(partitions=(partition,)))
    notes = plan(machine, nodes=2, gpus=1, launch__with="per-rank").notes
    assert any("NCCL refuses two ranks on one GPU" in note for note in notes)
    assert not any("NCCL" in note for note in plan(machine, gpus=1).notes)
