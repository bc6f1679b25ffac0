"""Programs in a real container, by Charliecloud, the same on every engine. Apptainer's turn is in tests/launchers."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.containers import rootfs
from tests.place import Place

EXAMPLE = Path(__file__).parents[2] / "examples" / "container"
# Each rank writes down what it sees; when all have, rank 1 fails.
RANKS = """
import glob, json, os, socket, sys, time
from voyageur import job

rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
lines = []
for path in glob.glob("/proc/[0-9]*/cmdline"):
    try:
        lines.append(open(path, "rb").read().decode("utf-8", "replace"))
    except OSError:  # it has ended since
        pass
open(os.path.join(os.environ["HOME"], "litter"), "w").close()
seen = {
    "rank": rank, "node": os.environ["SLURMD_NODENAME"], "environment": dict(os.environ), "run": job.run,
    "host": os.path.exists("/usr/bin/apt-get"), "python": sys.executable, "here": os.getcwd(), "lines": lines,
    "folders": [path for path in sys.argv[1:] if os.path.isdir(path)],
}
with open(os.path.join(job.checkpoints, "rank-%d.json" % rank), "w") as file:
    json.dump(seen, file)
deadline = time.monotonic() + 60
while len(glob.glob(os.path.join(job.checkpoints, "rank-*.json"))) < world and time.monotonic() < deadline:
    time.sleep(0.05)
time.sleep(0.5)
sys.exit(7 if rank == 1 else 0)
"""
SAVES = """
import os, signal, subprocess, sys, time

heard = []  # a plain Slurm tells every process of a step, and so do we
signal.signal(getattr(signal, sys.argv[1]), lambda signum, frame: heard.append(signal.Signals(signum).name))
subprocess.Popen(["sleep", "98765"])
print("begun", flush=True)
while not heard:
    time.sleep(0.1)
print("heard", heard[0], flush=True)
time.sleep(1)  # it saves
"""


@pytest.fixture(params=["local", "production"])
def boxed(request: pytest.FixtureRequest) -> Place:
    """Not a Slurm of kind S, which hands a step's signals to every process of it by itself, wherever it is."""
    place: Place = request.getfixturevalue(request.param)
    return with_image(place)


def with_image(place: Place, more: str = "") -> Place:
    """The image lies on shared storage, as a user's would."""
    image = place.scratch / "image.sqsh"
    os.link(rootfs.squashfs(), image) if _same_disk(rootfs.squashfs(), place.scratch) else _copied(image)
    place.write("voyageur.toml", f'[env]\nimage = "{image}"\nruntime = "charliecloud"\n{more}')
    return place


def _same_disk(path: Path, folder: Path) -> bool:
    return path.stat().st_dev == folder.stat().st_dev


def _copied(image: Path) -> None:
    image.write_bytes(rootfs.squashfs().read_bytes())


def seen(place: Place) -> list[dict[str, Any]]:
    paths = place.scratch.glob("project/*/checkpoints/rank-*.json")
    return sorted((json.loads(path.read_text()) for path in paths), key=lambda one: int(one["rank"]))


def test_ranks_on_two_nodes_in_containers(place: Place) -> None:
    with_image(place, 'secrets = ["WANDB_API_KEY"]\n[env.variables]\nWANDB_PROJECT = "a $HOME `id` \'b\'"\n')
    place.write("ranks.py", RANKS)
    command = ["-n", "2", "--tasks", "2", "-W", "per-rank", "--", "python3", "ranks.py"]
    ended = place.finish(*command, str(place.scratch / "project"), WANDB_API_KEY="s3cret", LEAKED="1")
    log = place.log(ended["run"])
    ranks = seen(place)
    assert (ended["state"], ended["exit_code"]) == ("failed", 7), log
    assert [one["rank"] for one in ranks] == [0, 1, 2, 3]
    assert len({one["node"] for one in ranks}) == 2
    for one in ranks:
        variables = one["environment"]
        assert one["run"] == ended["run"]
        assert not one["host"]
        assert one["here"] == f"{variables['VOY_TMP']}/code"
        assert variables["HOME"] == f"{variables['VOY_TMP']}/home"
        assert one["folders"] == [str(place.scratch / "project")]
        assert variables["WANDB_PROJECT"] == "a $HOME `id` 'b'"
        assert variables["WANDB_API_KEY"] == "s3cret"
        assert not any("s3cret" in line for line in one["lines"])
        assert not {"LEAKED", "SHELL", "SCRATCH", "VIRTUAL_ENV", "VOY_CONTAINER"} & set(variables)
    assert log.count("container image:") == 2
    assert log.count("from shared storage") == 1
    assert not (place.home / "litter").exists()
    assert place.node_folders() == []


@pytest.mark.parametrize(
    ("verb", "signal", "state"), [("stop", "SIGUSR1", "stopped"), ("cancel", "SIGTERM", "cancelled")]
)
def test_signals_reach_the_program_inside_and_nothing_is_left(boxed: Place, verb: str, signal: str, state: str) -> None:
    boxed.write("saves.py", SAVES)
    run = boxed.submit("--tasks", "1", "-W", "per-rank", "--", "python3", "saves.py", signal)
    boxed.until_logged(run, "begun")
    boxed.voy(verb, run)
    assert boxed.wait(run)["state"] == state
    assert f"heard {signal}" in boxed.log(run)
    boxed.until(lambda: not sleepers())
    assert boxed.node_folders() == []


def sleepers() -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if path.read_bytes() == b"sleep\x0098765\x00":
                found.append(str(path))
        except OSError:
            continue
    return found


def test_the_example_with_an_image_of_ones_own(local: Place) -> None:
    """Nothing is said of a runtime: the one on this machine that takes such an image is found."""
    shutil.copytree(EXAMPLE, local.project, dirs_exist_ok=True)
    answer = local.voy("run", "-s", str(rootfs.squashfs()))
    assert answer.stdout.count("of 4 on local") == 4, answer.stdout + answer.stderr
    assert len(list(local.scratch.glob("project/container/checkpoints/rank-*.txt"))) == 4
