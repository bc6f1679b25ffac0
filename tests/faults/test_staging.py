"""Staging when things go wrong: what happened is said with the dataset and the node, and nothing half-there is used."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.behaviour.test_staging import LOOK, RESULTS, WORK, data_folders, datasets, events, table
from tests.place import VOY, Place
from tests.runtime.datasets import flip_byte
from voyageur.job.data.index import CHUNK
from voyageur.runtime.staging.hold import Hold, hold_for
from voyageur.runtime.staging.wanted import Wanted

COPY = '{ from = "datasets/images.tar", stage = "copy" }'


@pytest.fixture
def disk(local: Place) -> Path:
    """The nodes' own disk."""
    folder = local.root / "disk"
    folder.mkdir()
    return folder


def on_disk(place: Place, disk: Path, data: str, more: str = "") -> None:
    place.write("voyageur.toml", f'[data]\n{data}\n[env.variables]\nTMPDIR = "{disk}"\n{more}')
    place.write("look.py", LOOK + 'print("begun", flush=True)\n')


def look_like(place: Place, run: str) -> str:
    assert "begun" not in place.log(run), "the program was started"
    return place.log(run)


def test_one_flipped_byte(local: Place, disk: Path) -> None:
    flip_byte(datasets(local) / "images.tar", CHUNK + 1)
    on_disk(local, disk, f"images = {COPY}")
    ended = local.finish("--", "python", "look.py", "{data.images}")
    assert ended["state"] == "failed"
    log = look_like(local, ended["run"])
    assert "dataset images on local1: images.tar from byte 8388608 to 16777216" in log
    assert "is not what its index says" in log and "voy data verify" in log
    assert list(disk.iterdir()) == []


def test_a_flipped_byte_in_a_compressed_archive(local: Place, disk: Path) -> None:
    archive = datasets(local) / "small.tar.gz"
    flip_byte(archive, archive.stat().st_size // 2)
    on_disk(local, disk, 'small = "datasets/small.tar.gz"')
    ended = local.finish("--", "python", "look.py", "{data.small}")
    assert ended["state"] == "failed" and "small.tar.gz is broken" in look_like(local, ended["run"])
    assert list(disk.iterdir()) == []


def test_a_dataset_that_has_gone_meanwhile(local: Place, disk: Path) -> None:
    root = datasets(local)
    on_disk(local, disk, f"images = {COPY}")
    run = local.finish("--", "python", "look.py")["run"]
    (root / "images.tar").unlink()
    script = local.folder(run) / "job.sh"
    environment = {"HOME": str(local.home), "PATH": os.environ["PATH"], "SLURM_JOB_ID": "99"}
    subprocess.run([str(script)], env=environment, cwd=script.parent, check=False, capture_output=True, timeout=60)
    marker = json.loads((local.folder(run) / "done.json").read_text())
    assert marker["end"] == "failed" and "images.tar" in marker["problem"] and "dataset images on" in marker["problem"]
    assert list(disk.iterdir()) == []


def test_another_users_folder_is_refused_and_untouched(local: Place, disk: Path) -> None:
    root = datasets(local)
    on_disk(local, disk, f"images = {COPY}")
    path, victim = Path(folder_of(local, disk, root).path), local.root / "victim"
    victim.mkdir(mode=0o700)
    (victim / "theirs").write_text("x")
    for planted in (victim, local.root / "nothing"):
        path.symlink_to(planted)
        ended = local.finish("--", "python", "look.py")
        assert ended["state"] == "failed" and "somebody else made it" in look_like(local, ended["run"])
        path.unlink()
    assert os.listdir(victim) == ["theirs"]


def folder_of(place: Place, disk: Path, root: Path, keep: bool = False) -> Hold:
    """Where this dataset comes to on a local node, as another run of the same user has it."""
    environment = {"VOY_TOKEN": "f" * 12, "VOY_RUN_DIR": str(place.root), "VOY_TMP_BASE": str(disk)}
    hold = hold_for(Wanted("images", str(root / "images.tar"), "copy"), environment, "local1")
    if not keep:
        hold.leave(comes_back=False)
    return hold


# ── in the midst of it ───────────────────────────────────────────────────────────────────────────────────────────────


@contextlib.contextmanager
def staging_for_ever(place: Place, disk: Path, root: Path) -> Iterator[Hold]:
    """Another run of the user's is staging this dataset on the node, and takes its time."""
    hold = folder_of(place, disk, root, keep=True)
    with hold.gate():
        yield hold
    hold.leave(comes_back=False)


def stagers(place: Place, run: str) -> list[int]:
    wanted = f"{place.folder(run)}/runtime.pyz\0stage\0".encode()
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if wanted in path.read_bytes():
                found.append(int(path.parent.name))
    return found


def test_a_cancel_in_the_midst_of_staging(local: Place, disk: Path) -> None:
    root = datasets(local)
    on_disk(local, disk, f"images = {COPY}")
    with staging_for_ever(local, disk, root):
        run = local.submit("--", "python", "look.py", "{data.images}")
        local.until_logged(run, "attempt 1")
        time.sleep(0.5)  # whatever it does now, it must hear
        begin = time.monotonic()
        local.voy("cancel", run)
        assert local.wait(run, code=1)["state"] == "cancelled"
        assert time.monotonic() - begin < 8
        assert "the program did not begin" in look_like(local, run)
    assert list(disk.iterdir()) == []


def test_a_stager_that_is_killed_is_followed_by_another(local: Place, disk: Path) -> None:
    root = datasets(local)
    on_disk(local, disk, f"images = {COPY}")
    with staging_for_ever(local, disk, root) as hold:
        run = local.submit("--", "python", "look.py", "{data.images}")
        local.until_logged(run, "attempt 1")
        assert not hold.is_whole()
    # Whether it was caught waiting, at work, or not started yet: the run gets its dataset.
    for pid in stagers(local, run):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    assert local.wait(run, code=0)["state"] == "done"
    assert str((root / "images.tar").stat().st_size) in local.log(run)
    assert list(disk.iterdir()) == []


def test_a_requeued_run_finds_its_dataset_where_it_left_it(slurm: Place) -> None:
    assert slurm.bed
    datasets(slurm)
    table(slurm, images=COPY)
    slurm.write(
        "work.py",
        "import os, time; print('attempt', os.environ['VOY_ATTEMPT'], flush=True)\n"
        "time.sleep(300 if os.environ['VOY_ATTEMPT'] == '1' else 0)",
    )
    run = slurm.submit("--", "python", "work.py")
    slurm.until_logged(run, "attempt 1\n")
    job = slurm.status(run)["job"]
    slurm.bed.run(["scontrol", "requeue", job])
    slurm.until(lambda: slurm.status(run)["state"] == "pending", 40)
    slurm.bed.start_now(job)
    assert slurm.wait(run, code=0)["attempt"] == 2
    first, second = events(slurm, run, "staged")
    assert first["end"] == "whole"
    assert second["end"] == ("kept" if first["node"] == second["node"] else "whole")
    assert not [path for path in data_folders(slurm, run) if path.parent.name.endswith(second["node"])]


# ── no room ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def with_small_disk(place: Place, size: str, folder: str, script: str) -> str:
    """`script` where a folder of the place is a file system of its own, and small."""
    as_root = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    mount = f"mount -t tmpfs -o size={size} none {place.root}/{folder} && {script}"
    answer = subprocess.run(
        ["unshare", *as_root, "--mount", "bash", "-c", mount, "bash", *VOY],
        cwd=place.project, env=place.environment, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    return answer.stdout + answer.stderr


def test_what_does_not_fit_is_read_from_shared_storage(local: Place, disk: Path) -> None:
    root = datasets(local)
    on_disk(local, disk, f'images = {COPY}\nthrough = "datasets/images.tar"')
    local.write("look.py", LOOK + "from voyageur.job import data\nprint('read', len(data.open('through')[39]))\n")
    said = with_small_disk(local, "8m", "disk", '"$@" run -- python look.py {data.images}')
    assert f"saw local1 {root}/images.tar {(root / 'images.tar').stat().st_size}" in said
    assert "images: does not fit on this node's disk" in said and "read from shared storage" in said
    assert "read 500000" in said


def test_what_must_be_unpacked_and_does_not_fit_is_an_error(local: Place, disk: Path) -> None:
    datasets(local)
    on_disk(local, disk, 'images = { from = "datasets/images.tar", stage = "unpack" }')
    said = with_small_disk(local, "30m", "disk", '"$@" run -- python look.py')
    assert "dataset images on local1: it does not fit on this node's disk: 38.3M are needed" in said
    assert "begun" not in said


def test_no_room_at_home_leaves_the_results_on_the_node_and_pull_finds_them(local: Place) -> None:
    local.write("voyageur.toml", RESULTS)
    local.write("work.py", WORK + "open('big.bin', 'wb').write(b'b' * 3_000_000)\n")
    said = with_small_disk(
        local, "2m", "scratch", '"$@" run -- python work.py; cd ..; "$@" status; "$@" pull work- -o got'
    )
    assert "cannot be saved: No space left on device; they stay for a week in" in said
    assert "52 files" in said or "53 files" in said
    assert (local.root / "got" / "big.bin").read_bytes() == b"b" * 3_000_000
    assert (local.root / "got" / "figures" / "49.png").read_text() == "0 49\n" * 100
    for path in Path("/tmp").glob(f"voy-{os.getuid()}-kept-*"):
        if (path / "results" / "big.bin").exists():
            subprocess.run(["rm", "-r", str(path)], check=True)
