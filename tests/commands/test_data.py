"""`voy data` as it is typed: answers, errors with hints, exit codes, JSON."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from pathlib import Path

import pytest

from tests.data.trees import contents, many_files
from tests.place import VOY
from voyageur.job.data.index import Index


@pytest.fixture
def here(tmp_path: Path) -> Path:
    many_files(tmp_path / "raw", 60)
    (tmp_path / "raw" / os.fsdecode(b"odd \xff name")).write_text("odd")
    return tmp_path


def voy(here: Path, *words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    argv = [*VOY, "data", *words]
    answer = subprocess.run(argv, cwd=here, capture_output=True, text=True, check=False, timeout=60)
    assert answer.returncode == code, answer
    assert "Traceback" not in answer.stderr and "bug" not in answer.stderr
    return answer


def test_from_files_to_a_pack_and_back(here: Path) -> None:
    os.symlink("/etc/passwd", here / "raw" / "passwd")
    answer = voy(here, "pack", "raw", "x.tar")
    first, second = answer.stdout.splitlines()
    assert first.startswith(f"{here}/x.tar: 61 files, ") and answer.stderr == ""
    assert second == "left out: 1 symbolic links that lead outside, such as passwd"
    assert voy(here, "ls", "x.tar", "odd*").stdout == "odd \\xff name\n"
    assert voy(here, "verify", "x.tar").stdout.startswith("x.tar: 61 files, ")
    assert voy(here, "unpack", "x.tar", "-o", "out").stdout.startswith(f"{here}/out: 61 files, ")
    assert contents(here / "out") == contents(here / "raw")


def test_an_archive_that_is_there_already(here: Path) -> None:
    subprocess.run(
        "tar --sort=name -cf a.tar -C raw class0 class1; tar -cf b.tar -C raw class2", shell=True, cwd=here, check=True
    )
    assert voy(here, "index", "a.tar").stdout == "a.tar.idx: 24 files, 12 samples\n"
    assert "there is a a.tar.idx already" in voy(here, "index", "a.tar", code=2).stderr
    assert "add `-o NAME.tar`" in voy(here, "index", "a.tar", "b.tar", code=2).stderr
    voy(here, "index", "a.tar", "b.tar", "-o", "both.tar")
    assert len(voy(here, "ls", "both.tar").stdout.splitlines()) == 36
    assert voy(here, "verify", "both.tar").returncode == 0


def test_json(here: Path) -> None:
    voy(here, "pack", "raw", "x.tar", "--shards", "50K")
    told = json.loads(voy(here, "ls", "x.tar", "class1/", "--json").stdout)
    assert len(told["members"]) == 12 and set(told["members"][0]) == {"name", "size"}
    assert len(told["archives"]) > 2 and told["archives"][0]["name"] == "x-000000.tar"
    told = json.loads(voy(here, "verify", "x.tar", "--json").stdout)
    assert (told["members"], told["bad"], told["headers"]) == (61, [], [])
    told = json.loads(voy(here, "scan", "raw", "--json").stdout)
    assert (told["files"], told["folders"], told["pack"]) == (61, 6, None)
    assert sum(size.stat().st_size for size in (here / "raw").rglob("*") if size.is_file()) == told["size"]


def test_one_flipped_byte_is_found_and_named(here: Path) -> None:
    (here / "raw" / "large").write_bytes(bytes(20_000_000))
    voy(here, "pack", "raw", "x.tar")
    with open(here / "x.tar", "r+b") as file:
        file.seek(19_000_000)
        file.write(b"\1")
    answer = voy(here, "verify", "x.tar", code=1)
    assert answer.stderr == (
        "error: x.tar is not what was packed\n  large: not what was packed\n\nhint: fetch it or pack it again\n"
    )
    with open(here / "x.tar", "r+b") as file:
        file.seek(19_000_000)
        file.write(b"\0")
        file.seek(Index.load(str(here / "x.tar.idx")).place(1).offset - 300)  # in a header
        file.write(b"\1")
    assert json.loads(voy(here, "verify", "x.tar", "--json", code=1).stdout)["headers"] == [str(here / "x.tar")]


def test_a_broken_index_is_no_broken_pack(here: Path) -> None:
    voy(here, "pack", "raw", "x.tar")
    index = here / "x.tar.idx"
    whole = bytearray(index.read_bytes())
    whole[-40] ^= 1
    index.write_bytes(whole)
    assert "the index" in voy(here, "verify", "x.tar", code=2).stderr
    voy(here, "index", "--force", "x.tar")
    voy(here, "verify", "x.tar")


@pytest.mark.parametrize(
    ("words", "what", "hint"),
    [
        (("pack", "nothing", "x.tar"), "there is no nothing", ""),
        (("pack", "raw", "x.tar.gz"), "does not end in .tar", "voy data pack raw NAME.tar"),
        (("pack", "raw", "no/such/x.tar"), "cannot be made", ""),
        (("pack", "raw", "x.tar", "--shards", "12"), "a size needs its unit", "1G or 500M"),
        (("pack", "raw", "there.tar"), "there is a there.tar already", "--force"),
        (("ls", "nothing.tar"), "there is no dataset and no file nothing.tar", ""),
        (("ls", "there.tar"), "is empty", ""),
        (("ls", "text"), "is no tar archive", "voy data pack FOLDER NEW.tar"),
        (("verify", "raw"), "raw is no pack", ""),
        (("index", "raw"), "there is no archive raw", "voy data pack"),
        (("unpack", "raw", "nope*", "-o", "out"), "is called nope*", "voy data ls"),
        (("unpack", "raw"), "missing option", "--help"),
        (("scan", "text"), "there is no folder text", ""),
        (("zebra",), "there is no subverb", "--help"),
    ],
)
def test_one_clear_error(here: Path, words: tuple[str, ...], what: str, hint: str) -> None:
    (here / "there.tar").touch()
    (here / "text").write_text("hello\n" * 300)
    before = sorted(here.rglob("*"))
    answer = voy(here, *words, code=1 if "no/such/x.tar" in words else 2)
    assert answer.stdout == "" and answer.stderr.startswith("error: ")
    assert what in answer.stderr and hint in answer.stderr, answer.stderr
    assert sorted(here.rglob("*")) == before


def test_a_file_that_cannot_be_read_makes_exit_code_1(here: Path) -> None:
    os.symlink("/proc/self/mem", here / "raw" / "memory")
    answer = voy(here, "pack", "--follow", "raw", "x.tar", code=1)
    assert answer.stderr == "not packed: 1\n  memory: Input/output error\n"
    assert len(voy(here, "ls", "x.tar").stdout.splitlines()) == 61


def test_alone_it_lists_its_verbs(here: Path) -> None:
    assert "make one archive with an index" in voy(here).stdout


def test_progress_is_only_for_a_terminal(here: Path) -> None:
    ours, its = pty.openpty()
    argv = [*VOY, "data", "pack", "raw", "x.tar"]
    answer = subprocess.run(argv, cwd=here, stdout=subprocess.PIPE, stderr=its, check=True, timeout=60)
    os.close(its)
    shown = os.read(ours, 10_000).decode()
    os.close(ours)
    assert "packed " in shown and " of 61 files" in shown and "\n" not in shown
    assert answer.stdout.decode().startswith(f"{here}/x.tar: 61 files")
