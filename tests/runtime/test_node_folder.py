"""A private folder on a disk that belongs to everybody."""

import hashlib
import multiprocessing
import os
import subprocess
import tarfile
import time
from pathlib import Path
from typing import Any

import pytest

from tests.runtime.scripts import answer
from voyageur.runtime.node_folder import (
    MARK,
    NodeFolder,
    NodeFolderError,
    base_folder,
    open_node_folder,
    remove_tree,
    sweep,
)

TOKEN = "0123456789ab"


@pytest.fixture
def code(tmp_path: Path) -> tuple[str, str]:
    """An archive of one file, and its checksum."""
    (tmp_path / "train.py").write_text("print('frozen')\n")
    archive = tmp_path / "code.tar"
    with tarfile.open(archive, "w") as tar:
        tar.add(tmp_path / "train.py", "train.py")
    return str(archive), hashlib.sha256(archive.read_bytes()).hexdigest()


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    """The node's own disk."""
    folder = tmp_path / "disk"
    folder.mkdir()
    folder.chmod(0o1777)
    return folder


def around(disk: Path, **more: str) -> dict[str, str]:
    return {"VOY_TOKEN": TOKEN, "VOY_TMP_BASE": str(disk), "VOY_ATTEMPT": "1", **more}


def name_on(disk: Path) -> Path:
    return disk / f"voy-{os.getuid()}-{TOKEN}-1-n1"


def test_it_is_private_holds_the_code_and_is_gone_afterwards(disk: Path, code: tuple[str, str]) -> None:
    place = open_node_folder(around(disk), "n1")
    place.unpack(*code)
    assert Path(place.path) == name_on(disk)
    assert Path(place.path).stat().st_mode & 0o777 == 0o700
    assert (Path(place.code) / "train.py").read_text() == "print('frozen')\n"
    place.leave()
    assert list(disk.iterdir()) == []


def test_the_last_one_out_removes_it(disk: Path, code: tuple[str, str]) -> None:
    first, second = (open_node_folder(around(disk), "n1") for _ in range(2))
    first.unpack(*code)
    second.unpack(*code)
    first.leave()
    assert (Path(second.code) / "train.py").exists()
    second.leave()
    assert list(disk.iterdir()) == []


@pytest.mark.parametrize("planted", ["link", "broken link", "open folder", "group folder", "file", "pipe", "foreign"])
def test_what_somebody_else_prepared_is_refused_and_their_files_are_untouched(
    disk: Path, tmp_path: Path, planted: str
) -> None:
    victim = tmp_path / "victim"
    victim.mkdir(mode=0o700)
    (victim / "thesis.tex").write_text("precious")
    path = name_on(disk)
    if planted == "link":
        path.symlink_to(victim)
    elif planted == "broken link":
        path.symlink_to(tmp_path / "nowhere")
    elif planted == "open folder":
        path.mkdir()
        path.chmod(0o777)
    elif planted == "group folder":
        path.mkdir()
        path.chmod(0o750)
    elif planted == "file":
        path.write_text("x")
    elif planted == "pipe":
        os.mkfifo(path)
    else:
        path.mkdir(mode=0o700)
        try:
            os.chown(path, 65534, 65534)
        except PermissionError:
            pytest.skip("only root can make a folder that belongs to somebody else")
    with pytest.raises(NodeFolderError):
        open_node_folder(around(disk), "n1")
    assert (victim / "thesis.tex").read_text() == "precious"
    assert list(victim.iterdir()) == [victim / "thesis.tex"]
    assert os.path.lexists(path)
    assert not (tmp_path / "nowhere").exists()


def test_damaged_code_is_refused(disk: Path, code: tuple[str, str]) -> None:
    archive, checksum = code
    with open(archive, "ab") as file:
        file.write(b"x")
    place = open_node_folder(around(disk), "n1")
    with pytest.raises(NodeFolderError, match="is damaged"):
        place.unpack(archive, checksum)
    with pytest.raises(NodeFolderError, match="cannot be read"):
        place.unpack(archive + ".gone", checksum)
    place.leave()
    assert list(disk.iterdir()) == []


def test_a_sites_own_folder_is_used_and_only_what_is_ours_is_removed(disk: Path, code: tuple[str, str]) -> None:
    theirs = disk / "slurm.123"
    theirs.mkdir()
    (theirs / "by the site").write_text("x")
    place = open_node_folder(around(disk, VOY_SITE_TMPDIR=str(theirs)), "n1")
    place.unpack(*code)
    (theirs / "result.txt").write_text("y")
    assert Path(place.path).parent == theirs
    place.leave()
    assert {file.name for file in theirs.iterdir()} == {"by the site", "result.txt"}


def test_code_that_lies_in_the_sites_folder_is_neither_run_nor_removed(disk: Path, code: tuple[str, str]) -> None:
    theirs = disk / "theirs"
    (theirs / "code").mkdir(parents=True)
    (theirs / "code" / "train.py").write_text("print('foreign')")
    place = open_node_folder(around(disk, VOY_SITE_TMPDIR=str(theirs)), "n1")
    place.unpack(*code)
    assert (Path(place.code) / "train.py").read_text() == "print('frozen')\n"
    place.leave()
    assert [path.name for path in theirs.iterdir()] == ["code"]


def test_a_folder_with_the_mark_of_another_run_is_not_removed(disk: Path) -> None:
    theirs = disk / "theirs"
    theirs.mkdir(mode=0o700)
    (theirs / MARK).write_text('{"token": "another"}')
    (theirs / "code").mkdir()
    (theirs / "code" / "precious").write_text("x")
    NodeFolder(str(theirs), TOKEN).leave()
    assert (theirs / "code" / "precious").exists()


@pytest.mark.parametrize("wrong", [".", "nowhere", "/nonexistent/tmp"])
def test_a_tmpdir_that_is_no_folder_here_is_not_used(wrong: str) -> None:
    assert base_folder({"TMPDIR": wrong}) == "/tmp"


# ── sweeping ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def old(path: Path) -> None:
    os.utime(path, (time.time() - 3600, time.time() - 3600))


def test_the_sweep_removes_what_dead_runs_left_and_nothing_else(disk: Path, tmp_path: Path) -> None:
    mine = f"voy-{os.getuid()}-"
    names = ["dead", "young", "unmarked", "in-use"]
    for name in names:
        (disk / f"{mine}{name}").mkdir(mode=0o700)
        if name != "unmarked":
            (disk / f"{mine}{name}" / MARK).write_text("{}")
    (disk / "voy-4242-other").mkdir()
    (disk / "voy-4242-other" / MARK).write_text("{}")
    (disk / "somebody").mkdir()
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / MARK).write_text("{}")
    (victim / "precious").write_text("x")
    (disk / f"{mine}link").symlink_to(victim)
    (disk / f"{mine}dead" / "inner").symlink_to(victim)
    in_use = NodeFolder(str(disk / f"{mine}in-use"), TOKEN)
    for path in disk.iterdir():
        if not path.is_symlink() and not path.name.endswith("young"):
            old(path)
    old(victim)
    assert sweep(str(disk)) == 1
    assert {path.name for path in disk.iterdir()} == {
        f"{mine}young",
        f"{mine}unmarked",
        f"{mine}in-use",
        f"{mine}link",
        "voy-4242-other",
        "somebody",
    }
    assert (victim / "precious").exists()
    in_use.leave()


def test_a_killed_task_leaves_a_folder_that_the_next_sweep_removes(disk: Path) -> None:
    text = (
        "import os, signal, sys\nfrom voyageur.runtime.node_folder import open_node_folder\n"
        "place = open_node_folder({'VOY_TOKEN': 'abc', 'VOY_TMP_BASE': sys.argv[1]}, 'n1')\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    with pytest.raises(AssertionError):
        answer(text, str(disk))
    (left,) = disk.iterdir()
    assert sweep(str(disk), "other", settled=0) == 0
    assert sweep(str(disk), "abc", settled=0) == 1
    assert not left.exists()


# ── tasks that come and go ───────────────────────────────────────────────────────────────────────────────────────────


def come_and_go(disk: str, archive: str, checksum: str, rounds: int, problems: "multiprocessing.Queue[str]") -> None:
    for _ in range(rounds):
        try:
            place = open_node_folder(around(Path(disk)), "n1")
            place.unpack(archive, checksum)
            if not os.path.exists(os.path.join(place.code, "train.py")):
                problems.put("the code is gone while a task is there")
            place.leave()
        except Exception as problem:
            problems.put(repr(problem))
    problems.put("")


def test_short_tasks_of_one_node_that_come_and_go_do_not_disturb_each_other(disk: Path, code: tuple[str, str]) -> None:
    """One rank may end before the next one has started; it must not take the folder away from under it."""
    context = multiprocessing.get_context("fork")
    problems: Any = context.Queue()
    tasks = [context.Process(target=come_and_go, args=(str(disk), *code, 300, problems)) for _ in range(4)]
    for task in tasks:
        task.start()
    found, ended = [], 0
    while ended < len(tasks):
        problem = problems.get(timeout=30)
        ended += not problem
        found += [problem] if problem else []
    for task in tasks:
        task.join()
    assert sorted(set(found)) == []


# ── removing ─────────────────────────────────────────────────────────────────────────────────────────────────────────

READ_ONLY = """
import os, sys
from voyageur.runtime.node_folder import remove_tree
if os.getuid() == 0:
    os.setgid(65534); os.setuid(65534)
base = sys.argv[1]
for name, mode in (("a", 0o500), ("b", 0o000), ("c", 0o600)):
    os.makedirs(os.path.join(base, "tree", name))
    open(os.path.join(base, "tree", name, "file"), "w").close()
    os.chmod(os.path.join(base, "tree", name), mode)
remove_tree(os.path.join(base, "tree"))
print(os.path.exists(os.path.join(base, "tree")))
"""


def test_folders_that_the_program_closed_are_removed_all_the_same() -> None:
    """As somebody who is not root: a cache that a package manager made read-only, a folder of mode 000."""
    base = subprocess.run(["mktemp", "-d"], capture_output=True, text=True, check=True).stdout.strip()
    os.chmod(base, 0o777)
    try:
        assert answer(READ_ONLY, base) == "False\n"
    finally:
        subprocess.run(["chmod", "-R", "u+rwX", base], check=True)
        remove_tree(base)


def test_removing_never_follows_a_link(tmp_path: Path) -> None:
    (tmp_path / "victim").mkdir()
    (tmp_path / "victim" / "precious").write_text("x")
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "inner").symlink_to(tmp_path / "victim")
    (tmp_path / "link").symlink_to(tmp_path / "victim")
    remove_tree(str(tmp_path / "tree"))
    remove_tree(str(tmp_path / "link"))
    assert (tmp_path / "victim" / "precious").exists()
    assert not (tmp_path / "tree").exists()


def test_removing_changes_nothing_beside_the_tree(tmp_path: Path) -> None:
    """A tree that cannot be removed at once must not cost /tmp the rights of everybody else."""
    base = tmp_path / "base"
    (base / "tree" / "inner").mkdir(parents=True)
    base.chmod(0o1777)
    (base / "tree" / "inner").chmod(0o000)
    remove_tree(str(base / "tree"))
    remove_tree(str(base / "not there"))
    assert base.stat().st_mode & 0o7777 == 0o1777
    assert list(base.iterdir()) == []
