"""The examples, run as they are: two nodes with two ranks each, on this machine and on real Slurms.

`make test` runs those whose packages are small or that people use most, on one kind of Slurm, and of the others those
whose files have changed (`proven.py`); `make test-launchers` runs all of them everywhere.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.launchers.environments import EVERYTHING, environment
from tests.launchers.proven import LARGE, is_proven
from tests.place import Place

EXAMPLES = Path(__file__).parents[2] / "examples"
RANKS = "sum of ranks 6"
# What must stand in the log, and how often.
STYLES = {
    "torchrun": ("torch", RANKS, 4),
    "lightning": ("torch", RANKS, 4),
    "accelerate": ("torch", RANKS, 4),
    "deepspeed": ("deepspeed", RANKS, 4),
    "jax": ("jax", RANKS, 4),
    "mpi": ("mpi", f"{RANKS}, pi 3.141593", 4),
    "openmpi": ("openmpi", f"{RANKS}, pi 3.141593", 4),
    "tensorflow": ("tensorflow", RANKS, 4),
    "horovod": ("horovod", RANKS, 4),
    "dask": ("dask", "2 workers: sum of squares 20540", 1),
    "ray": ("ray", "2 nodes: sum of squares 20540", 1),
    "spark": ("spark", "sum 499999500000", 1),
}
# The other MPI library runs the example of the one.
EXAMPLE = {style: style for style in STYLES} | {"openmpi": "mpi"}
WITH_RANKS = [style for style, (_, words, _) in STYLES.items() if words.startswith(RANKS)]
ALWAYS = {
    ("torchrun", "S"),
    ("per-rank", "P"),
    ("lightning", "P"),
    ("accelerate", "S"),
    ("jax", "P"),
    ("ray", "P"),
    ("mpi", "P"),
    ("mpi", "local"),
    ("killed mpi", "local"),
    ("openmpi", "P"),
    ("openmpi", "local"),
    ("killed openmpi", "local"),
    ("dask", "P"),
    ("dask", "local"),
    ("lost dask", "local"),
}


def prepared(place: Place, style: str, packages: str = "") -> Place:
    made = environment(packages or STYLES[style][0])
    place.environment |= {"VIRTUAL_ENV": str(made), "PATH": f"{made}/bin:{place.environment['PATH']}"}
    return copied(place, style, made)


def copied(place: Place, style: str, made: Path) -> Place:
    shutil.copytree(EXAMPLES / EXAMPLE[style], place.project, dirs_exist_ok=True)
    variables = dict(_variables(style, made, place))
    if variables:
        text = (place.project / "voyageur.toml").read_text()
        lines = "".join(f"{name} = '{value}'\n" for name, value in variables.items())
        place.write("voyageur.toml", f"{text}\n[env.variables]\n{lines}")
    return place


def _variables(style: str, made: Path, place: Place) -> Iterator[tuple[str, str]]:
    if style == "mpi" and place.bed and place.bed.kind == "P":
        # A node of this kind sees the host's /sys, and in it interfaces that are not its own, and memory that it cannot
        # share with the others; UCX believes both.
        yield from {"UCX_NET_DEVICES": "eth0", "UCX_TLS": "tcp,self"}.items()
    # Open MPI's mpirun does not like to be started by root, as the tests of kind P are.
    if made.name in ("openmpi", "horovod"):
        for which in ("OMPI", "PRTE"):
            yield from {f"{which}_ALLOW_RUN_AS_ROOT": "1", f"{which}_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}.items()
    if style == "deepspeed":  # it compiles a part of itself, once; two compilers at once need more than these 2 GiB
        yield from {"TORCH_EXTENSIONS_DIR": str(made / "extensions"), "MAX_JOBS": "1"}.items()


def chosen(what: str, kind: str) -> None:
    """One that has changed is also run by `make test`, where two kinds of place have to do."""
    changed = what in LARGE and kind != "S" and not is_proven(what)
    if not (EVERYTHING or changed or (what, kind) in ALWAYS):
        pytest.skip("`make test-launchers` runs it")


@pytest.fixture(params=["local", "S", "P"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def place_of(kind: str, request: pytest.FixtureRequest) -> Place:
    name = {"local": "local", "S": "simple", "P": "production"}[kind]
    found: Place = request.getfixturevalue(name)
    return found


@pytest.mark.parametrize("style", STYLES)
def test_the_example_runs_unchanged_and_its_ranks_agree(style: str, kind: str, request: pytest.FixtureRequest) -> None:
    chosen(style, kind)
    place = prepared(place_of(kind, request), style)
    ended = place.finish()
    log = place.log(ended["run"])
    _, words, times = STYLES[style]
    assert ended["state"] == "done", log
    assert log.count(words) == times, log
    assert place.node_folders() == []


@pytest.mark.parametrize("launch", ["torchrun", "per-rank"])
def test_the_first_rank_that_died_is_named_with_its_last_lines(
    launch: str, kind: str, request: pytest.FixtureRequest
) -> None:
    chosen("torchrun" if launch == "torchrun" else "per-rank", kind)
    place = prepared(place_of(kind, request), "torchrun")
    started = time.monotonic()
    ended = place.finish("-W", launch, "--", "python", "train.py", "--fail-on", "2")
    assert ended["state"] == "failed"
    assert ended["because"].startswith("rank 2 on "), ended["because"]
    assert time.monotonic() - started < 90
    page = place.voy("status", ended["run"]).stdout
    assert "the last lines of rank 2" in page and "rank 2 was told to fail" in page
    assert "Connection closed" not in page
    only = place.voy("logs", "--rank", "2", ended["run"]).stdout
    assert "rank 2 was told to fail" in only
    assert all(line.startswith("2: ") for line in only.splitlines())


DIES = """
import os, runpy, sys
if os.environ["RANK"] == "2":
    print("going", flush=True)
    os.kill(os.getpid(), 9)
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def program_of(place: Place) -> str:
    return next(path.name for path in sorted(place.project.glob("*.py")))


@pytest.mark.parametrize("style", [*WITH_RANKS, "per-rank"])
def test_a_rank_that_is_killed_while_the_others_wait_for_it_ends_them(
    style: str, kind: str, request: pytest.FixtureRequest
) -> None:
    chosen(f"killed {style}", kind)
    place = prepared(place_of(kind, request), "torchrun" if style == "per-rank" else style)
    program = program_of(place)
    place.write("dies.py", DIES)
    started = time.monotonic()
    launch = EXAMPLE.get(style, style)
    ended = place.finish("-W", launch, "--", "python", "dies.py", program)
    assert (ended["state"], ended["because"].split(" on ")[0]) == ("failed", "rank 2"), ended["because"]
    assert "SIGKILL" in ended["because"]
    assert "the last lines of rank 2" in place.voy("status", ended["run"]).stdout
    assert time.monotonic() - started < 90
    assert place.node_folders() == []


LOSES = """
import os, time
from pathlib import Path

def kill():
    own = {f"{name}={os.environ[name]}".encode() for name in ("SLURMD_NODENAME", "VOY_TOKEN")}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            mine = own <= set((entry / "environ").read_bytes().split(b"\\0"))
            if mine and WORD in (entry / "cmdline").read_bytes():
                os.kill(int(entry.name), 9)
        except OSError:
            pass

def node(): return os.environ["SLURMD_NODENAME"]
"""
LOSES_DASK = """
from dask.distributed import Client

if __name__ == "__main__":
    client = Client()
    client.wait_for_workers(2, timeout=60)
    (other,) = [address for address, name in client.run(node).items() if name != node()]
    client.run(lambda: __import__("threading").Timer(0.5, kill).start(), workers=[other])
    while len(client.scheduler_info()["workers"]) > 1: time.sleep(0.1)
    print("without it", client.submit(sum, range(5)).result(), flush=True)
"""
LOSES_RAY = """
import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy as At

ray.init(logging_level="ERROR")
(other,) = [one["NodeID"] for one in ray.nodes() if one["NodeName"] != node()]
ray.remote(max_retries=0)(kill).options(scheduling_strategy=At(other, soft=False)).remote()
while sum(one["Alive"] for one in ray.nodes()) > 1: time.sleep(0.1)
print("without it", ray.get(ray.remote(lambda: sum(range(5))).remote()), flush=True)
"""
LOSES_SPARK = """
from pyspark.sql import SparkSession

session = SparkSession.builder.getOrCreate()
context, here = session.sparkContext, node()

def lost(_):
    if node() != here: kill()
    return node()

while set(context.parallelize(range(8), 8).map(lambda _: node()).collect()) == {here}: time.sleep(0.1)
try: context.parallelize(range(8), 8).foreach(lost)
except Exception as problem: print("lost", type(problem).__name__, flush=True)
while set(context.parallelize(range(8), 8).map(lambda _: node()).collect()) != {here}: time.sleep(0.5)
print("without it", context.parallelize(range(5)).sum(), flush=True)
"""
# The program, and what the worker's own command line holds.
LOST = {
    "dask": (LOSES_DASK, "distributed.cli.dask_worker"),
    "ray": (LOSES_RAY, "raylet/raylet"),
    "spark": (LOSES_SPARK, "deploy.worker.Worker"),
}


@pytest.mark.parametrize("style", LOST)
def test_a_worker_that_is_lost_is_told_and_the_command_goes_on(
    style: str, kind: str, request: pytest.FixtureRequest
) -> None:
    chosen(f"lost {style}", kind)
    place = prepared(place_of(kind, request), style)
    program, word = LOST[style]
    place.write("loses.py", f"WORD = {word.encode()!r}\n{LOSES}{program}")
    ended = place.finish("--", "python", "loses.py")
    assert ended["state"] == "done" and "without it 10" in place.log(ended["run"]), place.log(ended["run"])
    (met,) = [event for event in ended["events"] if event["event"] == "ranks meet"]
    lost = [event["node"] for event in ended["events"] if event["event"] == "worker lost"]
    assert lost == [met["nodes"][1]]
    assert place.node_folders() == []


WAITS = """
import runpy, sys, threading
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
print("has run", flush=True)
threading.Event().wait()
"""
# A minute on a Slurm is a minute, so only where more is to be ended than the tasks that srun has started.
MORE_THAN_TASKS = ("mpi", "openmpi", "horovod", "dask", "ray", "spark")
LIMITS = [(style, "local") for style in STYLES] + [(style, "P") for style in MORE_THAN_TASKS]


@pytest.mark.parametrize(("style", "kind"), LIMITS)
def test_at_its_time_limit_all_of_it_is_ended(style: str, kind: str, request: pytest.FixtureRequest) -> None:
    chosen(f"limit {style}", kind)
    place = prepared(place_of(kind, request), style)
    program = program_of(place)
    place.write("waits.py", WAITS)
    ended = place.finish("-t", "40s" if kind == "local" else "1m", "--", "python", "waits.py", program)
    log = place.log(ended["run"])
    assert ended["state"] == "timeout", log
    assert log.count("has run") == (4 if style in WITH_RANKS else 1), log
    # The daemons of Open MPI's mpirun die with Slurm's step, before their node is tidied: the next run there does it.
    if (style, kind) != ("openmpi", "P"):
        left = place.node_folders()
        # MPICH's kills its ranks then, also those that are just removing what they had there.
        assert left == [] or ((style, kind) == ("mpi", "P") and all(".gone-" in name for name in left)), left
    token = json.loads((place.folder(ended["run"]) / "run.json").read_text())["token"]
    place.until(lambda: not left_of(token))


def left_of(token: str) -> list[str]:
    """Command lines of processes that a run has left behind, on any node."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if f"VOY_TOKEN={token}".encode() in (entry / "environ").read_bytes().split(b"\0"):
                found.append((entry / "cmdline").read_text().replace("\0", " "))
    return found


@pytest.mark.parametrize("library", ["mpi", "openmpi"])
@pytest.mark.parametrize("rank", [1, 2])
def test_the_rank_that_aborts_mpi_is_named(rank: int, library: str, kind: str, request: pytest.FixtureRequest) -> None:
    chosen(library, kind)
    place = prepared(place_of(kind, request), library)
    ended = place.finish("--", "python", "pi.py", "--fail-on", str(rank))
    assert (ended["state"], ended["because"].split(" on ")[0]) == ("failed", f"rank {rank}"), place.log(ended["run"])
    # mpirun may lose the last lines of ranks that it kills; then the exception itself is what is known.
    assert ended["because"].endswith((": it called MPI_Abort", f"RuntimeError: rank {rank} was told to fail"))
    page = place.voy("status", ended["run"]).stdout
    assert f"the last lines of rank {rank}" in page and f"rank {rank} was told to fail" in page


def by_srun(place: Place, language: str) -> None:
    text = (place.project / "voyageur.toml").read_text()
    place.write("voyageur.toml", text.replace("[launch]", f'[launch]\nmpi = "{language}"'))


# The nodes of kind S are one machine with one /tmp, in which PMIx wants a folder for each of them.
BY_SRUN = [("mpi", "pmi2", "S"), ("mpi", "pmi2", "P"), ("openmpi", "pmix", "P")]


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize(("library", "language", "slurm"), BY_SRUN)
def test_mpi_ranks_that_srun_starts_itself(
    library: str, language: str, slurm: str, fails: bool, request: pytest.FixtureRequest
) -> None:
    chosen(library, slurm)
    place = prepared(place_of(slurm, request), library)
    by_srun(place, language)
    ended = place.finish("--", "python", "pi.py", *(("--fail-on", "2") if fails else ()))
    log = place.log(ended["run"])
    assert f"--mpi={language}" in (place.folder(ended["run"]) / "job.sh").read_text()
    if fails:
        assert (ended["state"], ended["because"].split(" on ")[0]) == ("failed", "rank 2"), log
        assert "rank 2 was told to fail" in place.voy("status", ended["run"]).stdout
    else:
        assert ended["state"] == "done" and log.count(f"{RANKS}, pi 3.141593") == 4, log


def test_ranks_that_srun_has_started_and_that_do_not_find_each_other_fail(request: pytest.FixtureRequest) -> None:
    """Open MPI knows no pmi2: each rank would do all the work by itself, and the run would be done."""
    chosen("openmpi", "P")
    place = prepared(place_of("P", request), "openmpi")
    by_srun(place, "pmi2")
    ended = place.finish("--", "python", "pi.py")
    assert ended["state"] == "failed", place.log(ended["run"])
    assert ": it has found none of the other 3 ranks: Open MPI " in ended["because"]
    assert ended["because"].endswith('try launch.mpi = "pmix" or "mpirun"')
    assert "sum of ranks" not in place.log(ended["run"])


@pytest.mark.parametrize("language", ["", "pmix"])
def test_a_horovod_that_was_built_with_mpi_takes_the_ranks_that_mpi_starts(
    language: str, kind: str, request: pytest.FixtureRequest
) -> None:
    chosen("horovod by MPI", kind)
    if language and kind != "P":
        pytest.skip("only kind P speaks PMIx")
    place = prepared(place_of(kind, request), "horovod")
    if language:
        by_srun(place, language)
    ended = place.finish("-W", "mpi")
    log = place.log(ended["run"])
    assert ended["state"] == "done" and log.count(RANKS) == 4, log


ANOTHER = {
    "mpi": ("openmpi", "it has found none of the other 3 ranks: `mpirun` does not belong to the Open MPI "),
    "openmpi": ("mpi", "this MPICH does not understand PMIx; try "),
}


@pytest.mark.parametrize("library", ANOTHER)
def test_an_mpirun_of_another_library_is_told(library: str, local: Place) -> None:
    chosen("openmpi", "local")
    other, words = ANOTHER[library]
    ended = prepared(local, library).finish("--", f"{environment(other)}/bin/python", "pi.py")
    assert ended["state"] == "failed", local.log(ended["run"])
    assert f": {words}" in ended["because"]


def test_torchrun_starts_all_workers_anew(kind: str, request: pytest.FixtureRequest) -> None:
    chosen("restarts", kind)
    place = prepared(place_of(kind, request), "torchrun")
    place.write(
        "once.py",
        "import os, time, torch, torch.distributed as dist\n"
        "dist.init_process_group('gloo')\n"
        "rank, again = dist.get_rank(), os.environ['TORCHELASTIC_RESTART_COUNT']\n"
        "if rank == 3 and again == '0': os.kill(os.getpid(), 9)\n"
        "total = torch.ones(1); dist.all_reduce(total); print('restart', again, 'sum', total.item(), flush=True)\n"
        "dist.barrier(); dist.destroy_process_group()\n",  # or gloo's threads may abort the worker at its end
    )
    text = (place.project / "voyageur.toml").read_text()
    place.write("voyageur.toml", f"{text}restarts = 2\n")
    ended = place.finish("--", "python", "once.py")
    log = place.log(ended["run"])
    assert ended["state"] == "done", log
    # An agent whose workers all live counts no restart: it has only met the others anew.
    assert log.count(" sum 4.0") == 4 and "restart 1 sum 4.0" in log, log


WAITER = """
import signal, sys, time, torch, torch.distributed as dist
dist.init_process_group("gloo")
def told(number, frame):
    print("told by", number, flush=True)
    sys.exit(0)
signal.signal(signal.SIGUSR1, told)
print("ready", flush=True)
while True: time.sleep(0.1)
"""


@pytest.mark.parametrize("launch", ["torchrun", "per-rank", "accelerate"])
def test_the_warning_reaches_the_workers_and_not_their_launcher(
    launch: str, kind: str, request: pytest.FixtureRequest
) -> None:
    chosen("warning", kind)
    place = prepared(place_of(kind, request), "torchrun")
    place.write("wait.py", WAITER)
    limit, warn = ("100s", "30s") if kind != "local" else ("40s", "20s")
    text = (place.project / "voyageur.toml").read_text()
    place.write("voyageur.toml", f"{text}\n[checkpoint]\nwarn = '{warn}'\n")
    ended = place.finish("-t", limit, "-W", launch, "--", "python", "wait.py")
    log = place.log(ended["run"])
    assert ended["state"] == "stopped", log
    assert log.count("told by 10") == 4, log
