"""Builds that are killed, raced, or have no room: nothing that is half made is ever taken for whole."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from tests.env.wheels import make_wheel
from tests.golden import Golden
from tests.workshop.bench import WorkBench
from voyageur.env.model import Built
from voyageur.env.store import all_built, find_built
from voyageur.errors import RunError, SpecError
from voyageur.workshop.claim import Claim, held, is_held
from voyageur.workshop.keeping import leftovers
from voyageur.workshop.locking import Locked
from voyageur.workshop.making import order_path
from voyageur.workshop.room import full_disks_told

pytest_plugins = ["tests.golden"]


def stocked(bench: WorkBench) -> Locked:
    make_wheel(bench.wheels, "alpha", requires=["beta"])
    make_wheel(bench.wheels, "beta", "2.0")
    return bench.wants("alpha")


def until(what: Callable[[], object], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline, "it did not come to pass in time"
        time.sleep(0.02)


def started(bench: WorkBench, locked: Locked) -> subprocess.Popen[str]:
    """A build in a process of its own, as a job runs it."""
    bench.folder.mkdir(exist_ok=True)
    order = bench.order(locked)
    path = order_path(bench.folder, order.key)
    path.write_bytes(msgspec.json.encode(order))
    argv = [sys.executable, "-m", "voyageur.workshop", str(path)]
    return subprocess.Popen(argv, env=bench.environment, stdout=subprocess.PIPE, text=True, start_new_session=True)


def whole(key: str) -> list[str]:
    return [f"{key}.json", f"{key}.tar", f"{key}.tar.sums"]


@pytest.mark.parametrize("line", ["Python ", "packages,", "installed by", "tried from"])
def test_a_killed_build_leaves_nothing_to_be_taken(quick: WorkBench, line: str) -> None:
    locked = stocked(quick)
    process = started(quick, locked)
    assert process.stdout
    for said in process.stdout:
        if line in said:
            break
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    key = quick.order(locked).key
    if find_built(quick.folder, key) is None:
        assert [left.key for left in leftovers(quick.folder)] == [key]
    built = quick.make(locked)
    assert built.packages == ("alpha==1.0", "beta==2.0")
    assert list(quick.tmp.glob("voy-env-*")) == []
    assert [name for name in quick.left() if not name.endswith(".order")] == whole(key)


def test_a_build_that_was_killed_while_it_wrote_a_small_file_leaves_nothing_either(quick: WorkBench) -> None:
    locked = stocked(quick)
    key = quick.order(locked).key
    quick.folder.mkdir(parents=True, exist_ok=True)
    halves = [f".{key}.json.4242", f".{key}.tar.sums.4242"]
    for name in halves:
        (quick.folder / name).write_text("{")
    assert [left.files for left in leftovers(quick.folder)] == [tuple(halves)]
    quick.make(locked)
    assert [name for name in quick.left() if not name.endswith(".order")] == whole(key)


def test_two_builds_at_once_build_once(quick: WorkBench) -> None:
    locked = stocked(quick)
    made: list[Built] = []
    threads = [threading.Thread(target=lambda: made.append(quick.make(locked))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 3
    assert len({built.made for built in made}) == 1
    assert sum("installed by" in line for line in quick.said) == 1
    assert any("is making it" in line for line in quick.said)


def test_who_died_on_this_machine_holds_nothing(tmp_path: Path) -> None:
    process = subprocess.Popen(["true"])
    process.wait()
    path = tmp_path / "claim"
    path.write_text(json.dumps({"host": os.uname().nodename, "pid": process.pid, "token": "theirs"}))
    assert not is_held(path)
    with held(path, lambda _: pytest.fail("nobody holds it")) as claim:
        assert claim.is_ours()
    assert not path.exists()


def test_another_process_that_has_its_number_by_now_holds_nothing(tmp_path: Path) -> None:
    """After a reboot, say: the number is taken, and nobody shows life."""
    path = tmp_path / "claim"
    path.write_text(json.dumps({"host": os.uname().nodename, "pid": os.getpid(), "token": "theirs"}))
    assert is_held(path)
    os.utime(path, (time.time() - 100, time.time() - 100))
    assert not is_held(path)


def test_who_shows_no_life_elsewhere_loses_it(tmp_path: Path) -> None:
    path = tmp_path / "claim"
    path.write_text(json.dumps({"host": "another", "pid": 1, "token": "theirs"}))
    assert is_held(path)
    assert not Claim(path).try_to_hold()
    os.utime(path, (time.time() - 100, time.time() - 100))
    assert not is_held(path)
    mine = Claim(path)
    assert mine.try_to_hold()
    assert mine.is_ours()
    mine.release()


def test_of_many_that_take_over_one_holds(tmp_path: Path) -> None:
    path = tmp_path / "claim"
    path.write_text(json.dumps({"host": "another", "pid": 1, "token": "theirs"}))
    os.utime(path, (time.time() - 100, time.time() - 100))
    claims = [Claim(path) for _ in range(12)]
    results: list[bool] = []
    threads = [threading.Thread(target=lambda each=claim: results.append(each.try_to_hold())) for claim in claims]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(claim.is_ours() for claim in claims) == 1
    for claim in claims:
        claim.release()
    assert not path.exists()


def test_who_has_lost_it_publishes_nothing(quick: WorkBench, tmp_path: Path) -> None:
    locked = stocked(quick)
    process = started(quick, locked)
    key = quick.order(locked).key
    claim = quick.folder / f"{key}.claim"
    until(claim.exists)
    claim.write_text(json.dumps({"host": "another", "pid": 1, "token": "theirs"}))
    assert process.wait(60) == 1
    assert list(all_built(quick.folder)) == []
    assert claim.exists()


@contextlib.contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    folder.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if done.returncode:
        pytest.skip("no disk can be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=False)


def test_a_full_disk_is_said_and_leaves_nothing(quick: WorkBench, tmp_path: Path) -> None:
    make_wheel(quick.wheels, "large", more={"large/data.txt": "x" * 400_000})
    locked = quick.wants("large")
    with small_disk(tmp_path / "small") as small:
        with pytest.raises(RunError) as error:
            quick.make(locked, folder=str(small))
        assert error.value.what == "the environment could not be written"
        assert "No space left on device" in error.value.facts[0]
        assert [path.name for path in small.iterdir() if path.suffix != ".log"] == []


def filled(folder: Path) -> None:
    with contextlib.suppress(OSError), open(folder / "filler", "wb") as file:
        while True:
            file.write(b"x" * 4096)
            file.flush()


@pytest.mark.parametrize("which", ["where it is kept", "where it is made"])
def test_a_disk_that_is_full_from_the_beginning_is_said(quick: WorkBench, tmp_path: Path, which: str) -> None:
    locked = stocked(quick)
    with small_disk(tmp_path / "small") as small:
        if which == "where it is made":
            quick.environment["TMPDIR"] = str(small)
        else:
            (small / "kept").mkdir()
            quick.folder = small / "kept"
        filled(small)
        with pytest.raises(RunError) as error:
            quick.make(locked)
        assert str(small) in error.value.text()
        assert quick.left() == []
        assert [path.name for path in small.iterdir() if path.name.startswith("voy-env")] == []


def test_a_virtual_environment_that_does_not_fit_is_said(quick: WorkBench, tmp_path: Path) -> None:
    folder = quick.root / ".venv"
    subprocess.run([quick.python().base, "-m", "venv", "--without-pip", str(folder)], check=True)
    next(folder.glob("lib/python3*/site-packages")).joinpath("large.txt").write_text("x" * 400_000)
    locked = quick.lock(".venv")
    with small_disk(tmp_path / "small") as small:
        quick.environment["TMPDIR"] = str(small)
        with pytest.raises(RunError) as error:
            quick.make(locked)
        assert error.value.what == "the disk is full on which the environment is made"
        assert error.value.facts == (f"{small}: No space left on device",)


def lock_on_a_full_disk(bench: WorkBench, small: Path) -> None:
    with full_disks_told(small):
        filled(small)
        bench.lock()


def test_packages_are_not_found_out_on_a_full_disk(bench: WorkBench, tmp_path: Path) -> None:
    make_wheel(bench.wheels, "alpha")
    with small_disk(tmp_path / "small") as small:
        bench.write("requirements.txt", "--no-index", "--find-links wheels", "alpha")
        bench.tmp = small
        with pytest.raises(RunError) as error:
            lock_on_a_full_disk(bench, small)
        assert "No space left" in error.value.text()


def test_one_that_is_made_again_stays_until_the_new_one_is_whole(quick: WorkBench) -> None:
    locked = stocked(quick)
    built = quick.make(locked)
    wheel = quick.wheels / "beta-2.0-py3-none-any.whl"
    content = wheel.read_bytes()
    wheel.write_bytes(content[:100])
    with pytest.raises(RunError):
        quick.make(locked, again=True)
    assert find_built(quick.folder, built.key) == built
    wheel.write_bytes(content)
    assert quick.make(locked, again=True, form="tar").digest == built.digest
    assert quick.left() == whole(built.key)


def test_no_room_to_make_it_is_said_before_anything_is_unpacked(quick: WorkBench, tmp_path: Path) -> None:
    make_wheel(quick.wheels, "large", more={"large/data.txt": "x" * 400_000})
    locked = quick.wants("large")
    with small_disk(tmp_path / "small") as small:
        quick.environment["TMPDIR"] = str(small)
        with pytest.raises(RunError) as error:
            quick.make(locked)
        assert error.value.what.startswith("there is no room in ")
        assert "files are wanted" in error.value.facts[0]
    assert quick.left() == []


def test_a_wheel_that_is_no_archive_any_more_is_named(quick: WorkBench, golden: Golden) -> None:
    locked = stocked(quick)
    wheel = quick.wheels / "beta-2.0-py3-none-any.whl"
    was = locked.lock.packages[1].sha256
    wheel.write_bytes(wheel.read_bytes()[:100])
    with pytest.raises(RunError) as error:
        quick.make(locked)
    text = error.value.text().replace(str(quick.root), "PROJECT").replace(was, "DIGEST")
    golden("flipped.txt", "\n".join(line for line in text.splitlines() if "has sha256" not in line) + "\n")


def test_a_lock_for_another_machine_is_refused(quick: WorkBench, golden: Golden) -> None:
    from msgspec.structs import replace

    locked = stocked(quick)
    other = replace(locked.lock, target=replace(locked.lock.target, machine="riscv64"))
    with pytest.raises(SpecError) as error:
        quick.make(replace(locked, lock=other))
    text = error.value.text().replace(os.uname().machine, "MACHINE")
    golden("other-machine-lock.txt", text + "\n")


def test_a_wheel_that_is_gone_is_named(quick: WorkBench) -> None:
    locked = stocked(quick)
    (quick.wheels / "beta-2.0-py3-none-any.whl").unlink()
    with pytest.raises(SpecError) as error:
        quick.make(locked)
    assert error.value.what == "the wheel of beta==2.0 is not there"


def test_without_a_network_the_package_is_named(quick: WorkBench) -> None:
    from msgspec.structs import replace

    locked = stocked(quick)
    far = replace(locked.lock.packages[1], origin="http://127.0.0.1:9/beta-2.0-py3-none-any.whl")
    lock = replace(locked.lock, packages=(locked.lock.packages[0], far))
    with pytest.raises(RunError) as error:
        quick.make(replace(locked, lock=lock))
    assert error.value.what == "beta==2.0 could not be fetched"
    assert quick.left() == []
