"""Both tools make the same of a lock: one file, with nothing of the place where it was made."""

from __future__ import annotations

import os
import subprocess
import tarfile
from pathlib import Path

import pytest

from tests.env.wheels import make_wheel
from tests.workshop.bench import WorkBench
from voyageur.env.model import Built
from voyageur.env.store import find_built
from voyageur.errors import RunError
from voyageur.runtime.staging.sums import read_sums
from voyageur.workshop.making import make

SCRIPT = "def main():\n    import beta, sys\n    print(beta.__version__, sys.prefix)\n"


def stocked(bench: WorkBench) -> WorkBench:
    make_wheel(bench.wheels, "alpha", requires=["beta>=2"], code=SCRIPT, scripts={"say-alpha": "alpha:main"})
    make_wheel(bench.wheels, "beta", "1.0")
    make_wheel(bench.wheels, "beta", "2.0", more={"beta-2.0.data/scripts/plain.sh": "#!/bin/sh\necho plain\n"})
    return bench


def unpacked(built: Built, folder: Path) -> Path:
    folder.mkdir(parents=True)
    with tarfile.open(built.archive) as tar:
        tar.extractall(folder, filter="fully_trusted")
    return folder


def said(*argv: object) -> str:
    done = subprocess.run([str(word) for word in argv], capture_output=True, text=True, cwd="/", check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_it_works_where_it_is_unpacked(bench: WorkBench, tmp_path: Path) -> None:
    built = stocked(bench).make(bench.wants("alpha"))
    folder = unpacked(built, tmp_path / "a place with a space")
    assert said(folder / "bin" / "say-alpha") == f"2.0 {folder}"
    os.symlink(folder / "bin" / "say-alpha", tmp_path / "linked")
    assert said(tmp_path / "linked") == f"2.0 {folder}"
    assert os.readlink(folder / "bin" / "python") == built.base
    assert said(folder / "bin" / "plain.sh") == "plain"


def test_the_same_lock_gives_the_same_bytes(bench: WorkBench) -> None:
    locked = stocked(bench).wants("alpha")
    first = bench.make(locked)
    second = bench.make(locked, again=True)
    assert (first.digest, first.key) == (second.digest, second.key)


def test_no_file_names_the_folder_that_it_was_made_in(bench: WorkBench, tmp_path: Path) -> None:
    folder = unpacked(stocked(bench).make(bench.wants("alpha")), tmp_path / "out")
    files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    assert [path for path in files if str(bench.tmp).encode() in path.read_bytes()] == []
    assert {path.name for path in folder.iterdir()} == {"bin", "lib", "lib64", "pyvenv.cfg"}


def test_compiled_modules_do_not_ask_for_the_times_of_sources(quick: WorkBench, tmp_path: Path) -> None:
    folder = unpacked(stocked(quick).make(quick.wants("alpha")), tmp_path / "out")
    compiled = next(folder.rglob("beta/__pycache__/*.pyc")).read_bytes()
    assert int.from_bytes(compiled[4:8], "little") == 0b01  # by hash, unchecked: PEP 552


def test_pip_finds_nothing_wrong_with_it(bench: WorkBench, tmp_path: Path) -> None:
    folder = unpacked(stocked(bench).make(bench.wants("alpha")), tmp_path / "out")
    pip = [*os.fspath(bench.python().base).split(), "-m", "pip", "--python", folder / "bin" / "python"]
    assert "No broken requirements found" in said(*pip, "check")
    assert "alpha==1.0" in said(*pip, "list", "--format", "freeze").splitlines()


def test_its_record_comes_with_its_digests(quick: WorkBench) -> None:
    built = stocked(quick).make(quick.wants("alpha"))
    sums = read_sums(built.archive)
    assert sums and sums.digest == built.digest
    assert find_built(quick.folder, built.key) == built
    assert quick.left() == [f"{built.key}.json", f"{built.key}.tar", f"{built.key}.tar.sums"]
    assert list(quick.tmp.glob("voy-env-*")) == []


def test_an_image_is_the_same_tree(quick: WorkBench, tmp_path: Path) -> None:
    built = stocked(quick).make(quick.wants("alpha"), form="squashfs")
    assert built.archive.endswith(f"{built.key}.squashfs")
    said("unsquashfs", "-q", "-no-progress", "-d", tmp_path / "out", built.archive)
    assert said(tmp_path / "out" / "bin" / "say-alpha") == f"2.0 {tmp_path}/out"


def test_where_no_image_can_be_mounted_it_is_a_tar(quick: WorkBench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that mounts is there, and does not know how to read this image."""
    tools = quick.root / "tools"
    tools.mkdir()
    (tools / "squashfuse").write_text("#!/bin/sh\nexit 1\n")
    (tools / "squashfuse").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    if not os.path.exists("/dev/fuse"):
        pytest.skip("nothing can be mounted here at all")
    built = stocked(quick).make(quick.wants("alpha"), form="auto")
    assert built.archive.endswith(".tar")
    assert any("cannot be mounted here" in line for line in quick.said)
    assert len(quick.left()) == 3


def test_what_does_not_import_is_named_and_not_kept(quick: WorkBench) -> None:
    make_wheel(quick.wheels, "broken", code="import there_is_no_such_module\n")
    with pytest.raises(RunError) as error:
        quick.make(quick.wants("broken"))
    assert error.value.what == "broken does not import"
    assert "ModuleNotFoundError: No module named 'there_is_no_such_module'" in error.value.facts
    assert quick.left() == []


def test_what_wants_hardware_that_is_not_here_is_said(quick: WorkBench) -> None:
    code = "raise ImportError('libcuda.so.1: cannot open shared object file: No such file or directory')\n"
    make_wheel(quick.wheels, "gpu", code=code)
    built = quick.make(quick.wants("gpu"))
    assert built.packages == ("gpu==1.0",)
    assert any("gpu was not tried" in line for line in quick.said)


def test_what_is_there_is_not_made_again(quick: WorkBench) -> None:
    locked = stocked(quick).wants("alpha")
    first = quick.make(locked)
    quick.said.clear()
    assert quick.make(locked) == first
    assert quick.said == []


def test_an_archive_that_was_cut_is_made_anew(quick: WorkBench) -> None:
    locked = stocked(quick).wants("alpha")
    first = quick.make(locked)
    with open(first.archive, "r+b") as file:
        file.truncate(1000)
    assert find_built(quick.folder, first.key) is None
    assert quick.make(locked).digest == first.digest


def test_an_order_travels_as_json(quick: WorkBench, tmp_path: Path) -> None:
    import msgspec

    from voyageur.workshop.making import read_order

    order = quick.order(stocked(quick).wants("alpha"))
    (tmp_path / "order").write_bytes(msgspec.json.encode(order))
    assert read_order(tmp_path / "order") == order
    assert make(order, quick.environment, quick.said.append).key == order.key
