"""Datasets on the nodes and results at home again, the same on every engine."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.place import Place
from tests.runtime.datasets import make_pack

READ = """
import os, sys, time
from voyageur.job import data
begin = time.monotonic()
pack = data.open("images")
first = len(pack[0])
print("first sample after", time.monotonic() - begin, flush=True)
print("read", sum(len(pack[number]) for number in range(len(pack))), "of", len(pack), flush=True)
"""
LOOK = """
import os, sys
for path in sys.argv[1:]:
    found = sorted(os.listdir(path)) if os.path.isdir(path) else os.path.getsize(path)
    print("saw", os.environ.get("SLURMD_NODENAME"), path, found, flush=True)
"""


def datasets(place: Place) -> Path:
    """The project's place on scratch, with a pack, a folder and a compressed tar on it."""
    root = place.scratch / "project" / "datasets"
    (root / "labels").mkdir(parents=True)
    for number in range(20):
        (root / "labels" / f"{number}.txt").write_text(str(number))
    with tarfile.open(root / "small.tar.gz", "w:gz") as tar:
        tar.add(root / "labels", "labels")
    make_pack(root / "images.tar")
    return root


def table(place: Place, **data: Any) -> None:
    lines = [f"{name} = {value}" for name, value in data.items()]
    place.write("voyageur.toml", "\n".join(["[data]", *lines, ""]))


def events(place: Place, run: str, name: str) -> list[dict[str, Any]]:
    lines = (place.folder(run) / "events.jsonl").read_text().splitlines()
    return [event for event in map(json.loads, lines) if event["event"] == name]


def test_every_kind_is_on_the_node_before_the_program_starts(place: Place) -> None:
    root = datasets(place)
    table(
        place, images='"datasets/images.tar"', labels='{ from = "datasets/labels/", stage = "unpack" }',
        small='"datasets/small.tar.gz"', far=f'{{ from = "{root}/images.tar", stage = "none" }}',
    )  # fmt: skip
    place.write("look.py", LOOK)
    run = place.submit("--", "python", "look.py", "{data.images}", "{data.labels}", "{data.small}", "{data.far}")
    assert place.wait(run, code=0)["state"] == "done"
    saw = [line.split(" ", 3) for line in place.log(run).splitlines() if line.startswith("saw ")]
    images, labels, small, far = saw
    assert "voy-" in images[2] and images[3] == str((root / "images.tar").stat().st_size)
    assert labels[3] == str(sorted(f"{number}.txt" for number in range(20)))
    assert small[3] == "['labels']" and far[2] == str(root / "images.tar")
    assert {event["end"] for event in events(place, run, "staged")} == {"whole"}
    assert "data       images: whole on 1 node" in place.voy("status", run).stdout
    assert place.node_folders() == [] and not data_folders(place, run)


def data_folders(place: Place, run: str) -> list[Path]:
    """What this run's datasets left on the nodes."""
    nodes = [place.bed.local_tmp(node) for node in place.bed.nodes] if place.bed and place.bed.kind == "P" else []
    found = [path for disk in [Path("/tmp"), *nodes] for path in disk.glob("voy-*-data-*/.voyageur.run-*")]
    return [path for path in found if json.loads(path.read_text())["run"] == str(place.folder(run))]


def test_a_pack_is_read_through_and_the_program_starts_at_once(place: Place) -> None:
    datasets(place)
    table(place, images='"datasets/images.tar"')
    place.write("read.py", READ)
    run = place.submit("--", "python", "read.py")
    assert place.wait(run, code=0)["state"] == "done"
    log = place.log(run)
    assert f"read {40 * 500_000} of 40" in log
    assert float(log.split("first sample after ")[1].split()[0]) < 1.0


def test_the_list_of_older_scripts(place: Place) -> None:
    datasets(place)
    place.write(
        "look.sh", 'cd "$SLURM_TMPDIR" && cat datasets/labels/7.txt && ls datasets && ls -L datasets/labels | wc -l'
    )
    run = place.submit("-d", "datasets/labels", "datasets/small.tar.gz", "--", "bash", "look.sh")
    assert place.wait(run, code=0)["state"] == "done"
    assert "7labels\nsmall.tar.gz\n20" in place.log(run)


@pytest.mark.parametrize("stage", ["copy", "index"])
def test_shared_storage_is_read_once_for_all_nodes(place: Place, stage: str) -> None:
    root = datasets(place)
    table(place, images=f'{{ from = "datasets/images.tar", stage = "{stage}" }}')
    place.write("wait.py", READ + "while not os.path.exists(sys.argv[1]): time.sleep(0.05)\n")
    go = place.root / "go"
    if stage == "copy":
        go.touch()
    run = place.submit("-n", "4", "--", "python", "wait.py", str(go))
    if stage == "index":  # the other way, a node above has to wait until those below have it
        place.until(lambda: len(events(place, run, "staged")) == 4)
    go.touch()
    assert place.wait(run, code=0)["state"] == "done"
    size = sum((root / name).stat().st_size for name in ("images.tar", "images.tar.idx"))
    staged = events(place, run, "staged")
    assert sorted(event["shared_bytes"] for event in staged) == [0, 0, 0, size]
    assert all(event["bytes"] == size for event in staged)
    assert place.log(run).count(f"read {40 * 500_000} of 40") == 4
    assert not data_folders(place, run)


def test_once_a_node_however_many_tasks(place: Place) -> None:
    datasets(place)
    table(place, small='"datasets/small.tar.gz"')
    place.write("look.py", LOOK)
    run = place.submit("--tasks", "3", "-c", "3", "--", "python", "look.py", "{data.small}") if not place.bed else (
        place.submit("--tasks", "2", "--", "python", "look.py", "{data.small}")
    )  # fmt: skip
    assert place.wait(run, code=0)["state"] == "done"
    assert place.log(run).count("['labels']") == (2 if place.bed else 3)
    assert len(events(place, run, "staged")) == 1


# ── results ──────────────────────────────────────────────────────────────────────────────────────────────────────────

WORK = """
import os, sys, time
rank = os.environ.get("SLURM_PROCID", "0")
os.makedirs("figures", exist_ok=True)
for number in range(50):
    open(f"figures/{number}.png", "w").write(f"{rank} {number}\\n" * 100)
open("loss.csv", "w").write("1,2,3\\n")
open(os.environ["VOY_TMP"] + "/model.bin", "wb").write(b"m" * 100_000)
print("worked", flush=True)
"""
RESULTS = '[results]\nsave = ["figures/", "*.csv", "*.bin"]\n'


def results(place: Place, run: str) -> Path:
    return next(place.scratch.glob(f"project/*/results/{run}"))


def test_results_come_home_whatever_the_end_and_are_pulled(place: Place) -> None:
    place.write("voyageur.toml", RESULTS)
    place.write("work.py", WORK + "sys.exit(int(sys.argv[1]))\n")
    for code, state in ((0, "done"), (3, "failed")):
        ended = place.finish("--", "python", "work.py", str(code))
        assert ended["state"] == state
        run = ended["run"]
        assert len(os.listdir(results(place, run))) == 2
        assert len(os.listdir(place.folder(run))) <= 10
        place.voy("pull", run)
        pulled = place.project / run
        assert (pulled / "figures" / "49.png").read_text() == "0 49\n" * 100
        assert (pulled / "model.bin").read_bytes() == b"m" * 100_000 and (pulled / "loss.csv").exists()
        assert len([path for path in pulled.rglob("*") if path.is_file()]) == 52


def test_results_of_several_nodes_stand_side_by_side(place: Place) -> None:
    place.write("voyageur.toml", RESULTS)
    place.write("work.py", WORK)
    ended = place.finish("-n", "2", "--", "python", "work.py")
    answer = json.loads(place.voy("pull", "--json", ended["run"]).stdout)
    assert len(answer["new"]) == 104 and not answer["damaged"] and not answer["missing"]
    texts = {path.read_text().split()[0] for path in (place.project / ended["run"]).glob("*/figures/0.png")}
    assert texts == {"0", "1"}


def test_results_are_saved_within_the_grace_of_a_cancel(place: Place) -> None:
    place.write("voyageur.toml", RESULTS)
    place.write("work.py", WORK + "time.sleep(600)\n")
    run = place.submit("--", "python", "work.py")
    place.until_logged(run, "worked")
    place.voy("cancel", run)
    assert place.wait(run, code=1)["state"] == "cancelled"
    assert json.loads(place.voy("pull", "--json", run).stdout)["bytes"] > 100_000


def test_results_are_saved_on_a_timer_and_survive_a_sigkill_of_everything(place: Place) -> None:
    place.write("voyageur.toml", RESULTS + 'every = "1s"\n')
    place.write("work.py", WORK + "time.sleep(600)\n")
    run = place.submit("--", "python", "work.py")
    found = place.until(lambda: list(place.scratch.glob(f"project/*/results/{run}/*.json")))
    assert len(json.loads(found[0].read_text())["files"]) == 52
    place.voy("cancel", run)
    place.wait(run, code=1)


# It runs for longer than the kernel believes what it knows of a mount.
MOUNTED = """
import os, sys, time
time.sleep(1.5)
print("ismount", os.path.ismount(sys.argv[1]), open(os.path.join(sys.argv[1], "7.txt")).read(), sys.argv[1], flush=True)
"""


def test_a_squashfs_image_is_mounted_and_let_go_at_the_end(place: Place) -> None:
    root = datasets(place)
    subprocess.run(["mksquashfs", root / "labels", root / "labels.sqfs", "-quiet", "-no-progress"], check=True)
    table(place, labels='"datasets/labels.sqfs"')
    place.write("look.py", MOUNTED)
    for nodes in (1, 2):
        more = ("-n", "2", "--launch", "per-node") if nodes > 1 else ()
        run = place.finish(*more, "--", "python", "look.py", "{data.labels}")["run"]
        assert place.log(run).count("ismount True 7 ") == nodes, place.log(run)
    assert place.node_folders() == [], "a mount would hold its folder"


def test_what_a_node_cannot_mount_is_unpacked(local: Place) -> None:
    root = datasets(local)
    with zipfile.ZipFile(root / "labels.zip", "w") as archive:
        archive.write(root / "labels" / "7.txt", "labels/7.txt")
    table(local, labels='{ from = "datasets/labels.zip", stage = "mount" }')
    local.write("look.py", LOOK)
    local.environment["PATH"] = "/usr/bin:/bin"
    run = local.finish("--", "python", "look.py", "{data.labels}")["run"]
    if shutil.which("mount-zip") or shutil.which("fuse-zip"):
        pytest.skip("this machine can mount a zip")
    assert "labels: no program on local1 mounts a zip; it is unpacked" in local.log(run)
    assert "whole/labels ['labels']" in local.log(run)
