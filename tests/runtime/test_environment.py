"""An environment on a node: unpacked or mounted or made there, whole or not at all, and its Python comes first."""

import os
import shutil
import subprocess
import threading
import time
from pathlib import Path

import pytest

from tests.env.wheels import make_wheel
from tests.runtime.datasets import around, flip_byte
from tests.runtime.environments import BASE, make_folder, make_image, make_tar
from voyageur.record.create import runtime_zip
from voyageur.runtime import in_job
from voyageur.runtime.environment import VARIABLE, EnvironmentProblem, Wish, activated, in_words, read_wish
from voyageur.runtime.node_folder import NodeFolder, open_node_folder
from voyageur.runtime.staging.aboard import Aboard, StagingError, Stopped
from voyageur.runtime.staging.sums import read_sums
from voyageur.runtime.staging.wanted import ENVIRONMENT, Wanted
from voyageur.runtime.staging.wanted import in_words as stage_words


def pause(seconds: float) -> bool:
    time.sleep(min(seconds, 0.02))
    return True


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_folder(tmp_path_factory.mktemp("made") / "environment")


@pytest.fixture
def surroundings(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "disk").mkdir()
    found = around(tmp_path / "disk", tmp_path / "run", PATH=os.environ["PATH"])
    (tmp_path / "run" / "runtime.pyz").write_bytes(runtime_zip())
    return found


def board(surroundings: dict[str, str], archive: Path, stage: str, digest: str = "", **wish: object) -> Aboard:
    sums = read_sums(str(archive))
    assert sums
    one = Wanted(ENVIRONMENT, str(archive), stage, digest=digest or sums.digest)
    surroundings["VOY_STAGE"] = stage_words([one])
    surroundings[VARIABLE] = in_words(Wish(**{"base": BASE, **wish}))  # type: ignore[arg-type] # as it comes from JSON
    place = open_node_folder(surroundings, "n1")
    aboard = Aboard(surroundings, "n1", place.path)
    aboard.board(pause)
    return aboard


def says(surroundings: dict[str, str], at: str, *words: str) -> str:
    variables = {**surroundings, **activated(surroundings, at)}
    return subprocess.run(words, env=variables, capture_output=True, text=True, check=True).stdout.strip()


# ── one that travels ─────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("stage", ["unpack", "mount"])
def test_its_programs_work_where_it_is(folder: Path, tmp_path: Path, surroundings: dict[str, str], stage: str) -> None:
    make = make_image if stage == "mount" else make_tar
    aboard = board(surroundings, make(folder, tmp_path / "key.archive"), stage)
    at = aboard.environment_folder()
    try:
        assert at.startswith(str(tmp_path / "disk"))
        assert says(surroundings, at, "hello") == f"hello {at}"
        assert says(surroundings, at, "python", "-c", "import greeting; print(greeting.__file__)").startswith(at)
        assert os.path.ismount(at) == (stage == "mount")
    finally:
        aboard.leave()
    assert not os.path.exists(at) or not os.listdir(at)


@pytest.mark.parametrize("stage", ["unpack", "mount"])
def test_a_damaged_one_is_never_used(folder: Path, tmp_path: Path, surroundings: dict[str, str], stage: str) -> None:
    make = make_image if stage == "mount" else make_tar
    archive = make(folder, tmp_path / "key.archive")
    flip_byte(archive, archive.stat().st_size // 2)
    with pytest.raises(
        StagingError, match=r"the environment on n1: key\.archive from byte 0 to .* is damaged; `voy env build --again`"
    ):
        board(surroundings, archive, stage)


def test_only_the_one_that_was_planned(folder: Path, tmp_path: Path, surroundings: dict[str, str]) -> None:
    archive = make_tar(folder, tmp_path / "key.tar")
    with pytest.raises(StagingError, match="is not the one that was planned"):
        board(surroundings, archive, "unpack", digest="0" * 64)
    shutil.copy(archive, tmp_path / "cut.tar")
    os.truncate(tmp_path / "cut.tar", 5000)
    shutil.copy(f"{archive}.sums", tmp_path / "cut.tar.sums")
    with pytest.raises(StagingError, match="it has 5000 bytes, and its sums were made for"):
        board(surroundings, tmp_path / "cut.tar", "unpack")


def test_without_room_an_image_is_mounted_from_shared_storage(
    folder: Path, tmp_path: Path, surroundings: dict[str, str], capfd: pytest.CaptureFixture[str]
) -> None:
    """The process that stages is another one, so the disk has to be full for real: it is a small one in memory."""
    large = shutil.copytree(folder, tmp_path / "large", symlinks=True)
    (large / "share").mkdir()
    (large / "share" / "weights").write_bytes(os.urandom(100_000))
    archive = make_image(large, tmp_path / "key.squashfs")
    if os.getuid() != 0:
        pytest.skip("only root may mount a disk of one page")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32k", "none", str(tmp_path / "disk")], check=True)
    try:
        aboard = board(surroundings, archive, "mount")
        assert says(surroundings, aboard.environment_folder(), "hello").startswith("hello ")
        aboard.leave()
        assert "does not fit on this node's disk" in capfd.readouterr().err
        flip_byte(archive, archive.stat().st_size // 2)
        with pytest.raises(StagingError, match="is not what was planned; `voy env build --again`"):
            board({**surroundings, "SLURM_JOB_ID": "77"}, archive, "mount")
    finally:
        subprocess.run(["umount", "-l", str(tmp_path / "disk")], check=True)


def test_what_has_to_know_its_place_is_finished_there_once(
    folder: Path, tmp_path: Path, surroundings: dict[str, str]
) -> None:
    finish = ["bin/python", "-c", "import os; open('places', 'a').write(os.getcwd() + chr(10))"]
    archive = make_tar(folder, tmp_path / "key.archive")
    first = board(surroundings, archive, "unpack", finish=finish)
    second = board(surroundings, archive, "unpack", finish=finish)
    at = first.environment_folder()
    assert second.environment_folder() == at
    assert Path(at, "places").read_text().splitlines() == [os.path.realpath(at)]
    second.leave()
    first.leave()


def test_a_finish_that_fails_is_named(folder: Path, tmp_path: Path, surroundings: dict[str, str]) -> None:
    archive = make_tar(folder, tmp_path / "key.archive")
    with pytest.raises(StagingError, match="no prefix to mend"):
        board(surroundings, archive, "unpack", finish=["bin/python", "-c", "raise SystemExit('no prefix to mend')"])


def test_a_node_without_its_python_says_which(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy, symlinks=True)
    (copy / "bin" / "python").unlink()
    (copy / "bin" / "python").symlink_to("/cvmfs/python3.11")
    variables = {VARIABLE: in_words(Wish(base="/cvmfs/python3.11"))}
    with pytest.raises(EnvironmentProblem, match=r"stands on /cvmfs/python3\.11, which this node does not have"):
        activated(variables, str(copy))


def test_wishes_survive_the_script() -> None:
    wish = Wish(base="3.11", requirements=["é b.txt"], wheels=["wheels"], online=True)
    assert read_wish({VARIABLE: in_words(wish)}) == wish and read_wish({}) is None


# ── one that is made on the node ─────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def place(tmp_path: Path, surroundings: dict[str, str]) -> NodeFolder:
    place = open_node_folder(surroundings, "n1")
    os.makedirs(place.code)
    make_wheel(Path(place.code, "wheels"), "anchor", "2.1")
    Path(place.code, "requirements.txt").write_text("anchor>=2\n")
    return place


def wish(*requirements: str) -> Wish:
    return Wish(requirements=list(requirements or ("requirements.txt",)), wheels=["wheels"])


def test_one_is_made_from_wheels_once_for_all_tasks(
    place: NodeFolder, surroundings: dict[str, str], capfd: pytest.CaptureFixture[str]
) -> None:
    found: list[str] = []
    tasks = [
        threading.Thread(target=lambda: found.append(in_job.make(wish(), surroundings, place, pause))) for _ in range(2)
    ]
    for task in tasks:
        task.start()
    for task in tasks:
        task.join()
    assert len(found) == 2 and len(set(found)) == 1
    assert says(surroundings, found[0], "python", "-c", "import anchor; print(anchor.__version__)") == "2.1"
    assert capfd.readouterr().err.count("the environment was made on this node in") == 1


def test_a_package_that_is_not_there_is_named(place: NodeFolder, surroundings: dict[str, str]) -> None:
    Path(place.code, "requirements.txt").write_text("anchor>=3\n")
    with pytest.raises(EnvironmentProblem, match="No matching distribution found for anchor>=3"):
        in_job.make(wish(), surroundings, place, pause)
    Path(place.code, "requirements.txt").write_text("anchor\n")
    assert in_job.make(wish(), surroundings, place, pause)


def test_it_ends_when_the_run_is_told_to(place: NodeFolder, surroundings: dict[str, str]) -> None:
    with pytest.raises(Stopped):
        in_job.make(wish(), surroundings, place, lambda seconds: False)


def test_a_python_that_is_not_there_is_named(place: NodeFolder, surroundings: dict[str, str]) -> None:
    with pytest.raises(EnvironmentProblem, match=r"no python3\.77 on this node"):
        in_job.make(wish()._replace(base="3.77"), surroundings, place, pause)


def test_a_node_that_can_do_nothing_with_an_image_says_what_would_work(
    folder: Path, tmp_path: Path, surroundings: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = make_image(folder, tmp_path / "key.squashfs")
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("python3", "sh"):
        (tools / name).symlink_to(shutil.which(name) or "")
    monkeypatch.setenv("PATH", str(tools))
    surroundings["PATH"] = str(tools)
    with pytest.raises(StagingError, match=r"no `unsquashfs`; `env\.form = \"tar\"` needs neither"):
        board(surroundings, archive, "mount")
