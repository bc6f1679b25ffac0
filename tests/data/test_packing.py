"""Packing: deterministic, whole or not at all, gone on with after a kill, and honest about what is missing."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.data.trees import contents, many_files, packed
from voyageur.data import journal, sources
from voyageur.data.forms.known import source_form
from voyageur.data.part import PartFolder
from voyageur.errors import SpecError, VoyageurError
from voyageur.job import data
from voyageur.job.data import TarPack
from voyageur.job.data.index import sample_of
from voyageur.runtime.staging.look import PACK, TAR, look

parts = st.binary(min_size=1, max_size=20).filter(lambda part: not {0, 47} & set(part) and part not in (b".", b".."))


def gnu_contents(archive: Path, folder: Path) -> dict[bytes, bytes]:
    folder.mkdir()
    subprocess.run(["tar", "xf", str(archive), "-C", str(folder)], check=True)
    return contents(folder)


def test_gnu_tar_unpacks_the_same_files(tmp_path: Path) -> None:
    source = many_files(tmp_path / "in")
    deep = source / ("d" * 99) / ("e" * 99)
    deep.mkdir(parents=True)
    (deep / ("f" * 99)).write_text("long")
    (source / os.fsdecode(b"not \xff utf-8 \n.txt")).write_text("odd")
    (source / "large.bin").write_bytes(os.urandom(5_000_001))
    (source / "program").write_text("#!/bin/sh\n")
    (source / "program").chmod(0o4755)
    report = packed(source, tmp_path / "x.tar")
    assert (report.problems, report.members) == ([], 304)
    assert gnu_contents(tmp_path / "x.tar", tmp_path / "out") == contents(source)
    assert (tmp_path / "out" / "program").stat().st_mode & 0o7777 == 0o755
    assert sorted(os.listdir(tmp_path)) == ["in", "out", "x.tar", "x.tar.idx"]


@example({b"PK\x03\x04": b"a tar that begins like a zip"})
@settings(max_examples=15, deadline=None)
@given(st.dictionaries(st.lists(parts, min_size=1, max_size=3).map(b"/".join), st.binary(max_size=700), min_size=1))
def test_any_tree_comes_back(tmp_path_factory: pytest.TempPathFactory, files: dict[bytes, bytes]) -> None:
    folder = tmp_path_factory.mktemp("tree")
    written = {}
    for name, content in files.items():
        path = os.path.join(os.fsencode(folder / "in"), name)
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "xb") as file:
                file.write(content)
        except OSError:
            continue  # the name of a folder that is there
        written[name] = content
    packed(folder / "in", folder / "x.tar")
    pack = data.open(folder / "x.tar", check=True)
    assert {name: pack[name] for name in written} == written
    assert len(pack) == len(written)


@pytest.mark.parametrize("first", ["PK\x03\x04", "PK\x05\x06", "hsqs"])
def test_a_tar_that_begins_with_the_letters_of_another_form_is_a_tar(tmp_path: Path, first: str) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / first).write_text("a name")
    packed(tmp_path / "in", tmp_path / "x.tar")
    os.unlink(tmp_path / "x.tar.idx")
    (tmp_path / "x").write_bytes((tmp_path / "x.tar").read_bytes())  # no ending tells
    assert look(str(tmp_path / "x")).kind == TAR
    assert source_form(str(tmp_path / "x"), None) == PACK
    assert data.open(tmp_path / "x")[first] == b"a name"


def test_the_same_files_make_the_same_bytes(tmp_path: Path) -> None:
    first = many_files(tmp_path / "a")
    subprocess.run(["cp", "-r", "--no-preserve=all", "a", "b"], cwd=tmp_path, check=True)
    packed(first, tmp_path / "a.tar")
    packed(tmp_path / "b", tmp_path / "b.tar")
    assert (tmp_path / "a.tar").read_bytes() == (tmp_path / "b.tar").read_bytes()


def test_shards_hold_whole_samples_and_read_as_one(tmp_path: Path) -> None:
    source = many_files(tmp_path / "in", 400)
    packed(source, tmp_path / "x.tar", shard=150_000)
    shards = sorted(path.name for path in tmp_path.glob("*.tar"))
    assert shards[:2] == ["x-000000.tar", "x-000001.tar"] and len(shards) > 3
    pack = data.open(tmp_path / "x.tar", check=True)
    assert {os.fsencode(name): content for name, content in pack.items()} == contents(source)
    seen: dict[bytes, int] = {}
    assert isinstance(pack, TarPack)
    for number in range(len(pack)):
        archive = pack.table.place(number).archive
        assert seen.setdefault(sample_of(pack.table.name(number)), archive) == archive


# ── interrupted ──────────────────────────────────────────────────────────────────────────────────────────────────────

_PROGRAM = """
import os, sys
from voyageur.errors import VoyageurError
from voyageur.data import journal
from voyageur.commands.verbs import run_verb
left = int(sys.argv[1])
append = journal.Journal.append
def counted(self, members):
    global left
    append(self, members)
    left -= 1
    if not left:
        os.kill(os.getpid(), int(sys.argv[2]))
journal.Journal.append = counted
try:
    sys.exit(run_verb(sys.argv[3:]))
except KeyboardInterrupt:
    sys.exit(130)
except VoyageurError as error:
    sys.exit(error.text())
"""


def interrupted(folder: Path, after: int, signum: int, *words: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-c", _PROGRAM, str(after), str(int(signum)), "data", "pack", *words]
    return subprocess.run(argv, cwd=folder, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("shards", [(), ("--shards", "200K")])
def test_killed_again_and_again_it_goes_on_and_the_bytes_are_the_same(tmp_path: Path, shards: tuple[str, ...]) -> None:
    source = many_files(tmp_path / "in", 600)
    (source / "class2" / "00000.large").write_bytes(os.urandom(3_000_000))
    packed(source, tmp_path / "once.tar", shard=200 * 1024 if shards else 0)
    for after in (1, 3, 5):
        killed = interrupted(tmp_path, after, signal.SIGKILL, "in", "x.tar", *shards)
        assert killed.returncode == -signal.SIGKILL
        assert not list(tmp_path.glob("x*"))
    answer = interrupted(tmp_path, 10**9, signal.SIGKILL, "in", "x.tar", *shards)
    assert answer.returncode == 0 and "went on after" in answer.stdout, answer
    for once in tmp_path.glob("once*.tar"):
        assert once.read_bytes() == (tmp_path / once.name.replace("once", "x")).read_bytes()
    assert not list(tmp_path.glob(".x*"))


def test_control_c_says_that_it_goes_on(tmp_path: Path) -> None:
    many_files(tmp_path / "in", 600)
    answer = interrupted(tmp_path, 2, signal.SIGINT, "in", "x.tar")
    assert (answer.returncode, answer.stdout) == (130, "")
    assert answer.stderr.strip().splitlines()[-1] == "stopped; the same command goes on where it was"


def test_what_changed_in_between_is_packed_as_it_is_now(tmp_path: Path) -> None:
    source = many_files(tmp_path / "in", 600)
    interrupted(tmp_path, 6, signal.SIGKILL, "in", "x.tar")
    first, second = sorted(source.rglob("*.jpg"))[10:12]
    first.write_bytes(b"new")
    second.unlink()
    packed(source, tmp_path / "x.tar")
    pack = data.open(tmp_path / "x.tar", check=True)
    assert {os.fsencode(name): content for name, content in pack.items()} == contents(source)


def test_what_a_power_cut_took_from_the_archive_is_written_again(tmp_path: Path) -> None:
    source = many_files(tmp_path / "in", 600)
    packed(source, tmp_path / "once.tar")
    interrupted(tmp_path, 6, signal.SIGKILL, "in", "x.tar")
    part = tmp_path / ".x.tar.part" / "x.tar"
    with open(part, "r+b") as file:
        file.seek(part.stat().st_size // 2)
        file.write(bytes(5000))
    packed(source, tmp_path / "x.tar")
    assert (tmp_path / "x.tar").read_bytes() == (tmp_path / "once.tar").read_bytes()


@pytest.mark.parametrize(("shard", "last"), [(150_000, "x-000001.tar"), (0, "x.tar.idx")])
def test_stopped_while_it_is_moved_to_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shard: int, last: str
) -> None:
    source = many_files(tmp_path / "in", 400)
    moved = []

    def stop_at_the_second(before: str, after: str) -> None:
        if after == str(tmp_path / last):
            raise KeyboardInterrupt
        moved.append(after)
        rename(before, after)

    rename = os.rename
    monkeypatch.setattr(os, "rename", stop_at_the_second)
    with pytest.raises(KeyboardInterrupt):
        packed(source, tmp_path / "x.tar", shard=shard)
    monkeypatch.undo()
    assert moved and not (tmp_path / "x.tar.idx").exists()
    assert packed(source, tmp_path / "x.tar", shard=shard).members == 400
    assert len(data.open(tmp_path / "x.tar", check=True)) == 400
    assert not list(tmp_path.glob(".x*"))


def test_two_at_once(tmp_path: Path) -> None:
    source = many_files(tmp_path / "in", 20)
    part = PartFolder(str(tmp_path / "x.tar"), {})
    with contextlib.closing(part):
        answer = interrupted(tmp_path, 99, signal.SIGKILL, str(source), "x.tar")
    assert answer.returncode == 1 and "another `voy data pack` is at work on x.tar" in answer.stderr


# ── what does not go in ──────────────────────────────────────────────────────────────────────────────────────────────


def test_links_stay_links_only_inside(tmp_path: Path) -> None:
    source = many_files(tmp_path / "in", 10)
    (tmp_path / "secret").write_text("secret")
    os.symlink("class0/00000.jpg", source / "good")
    os.symlink("class0", source / "folder")
    os.symlink("../secret", source / "outside")
    os.symlink(str(source / "class0"), source / "absolute")
    os.symlink("nowhere", source / "dangling")
    os.symlink("folder/../../secret", source / "roundabout")
    report = packed(source, tmp_path / "x.tar")
    assert report.left_out == {"symbolic links that lead outside": 3, "symbolic links to nothing": 1}
    assert gnu_contents(tmp_path / "x.tar", tmp_path / "out") == contents(source)
    assert os.readlink(tmp_path / "out" / "good") == "class0/00000.jpg"
    assert sorted(path.name for path in (tmp_path / "out").iterdir() if path.is_symlink()) == ["folder", "good"]


def test_links_are_followed_when_asked_and_circles_end(tmp_path: Path) -> None:
    source = many_files(tmp_path / "in", 10, folders=1)
    (tmp_path / "beside").mkdir()
    (tmp_path / "beside" / "b.txt").write_text("beside")
    os.symlink("../beside", source / "folder")
    os.symlink("..", source / "class0" / "up")
    report = packed(source, tmp_path / "x.tar", follow=True)
    assert report.left_out == {"symbolic links that lead round in a circle": 1}
    assert data.open(tmp_path / "x.tar")["folder/b.txt"] == b"beside"


def test_special_files_are_counted(tmp_path: Path) -> None:
    source = many_files(tmp_path / "in", 10)
    os.mkfifo(source / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(source / "socket"))
        report = packed(source, tmp_path / "x.tar")
    assert report.left_out == {"sockets, devices and pipes": 2}
    assert (report.members, report.problems) == (10, [])


def test_two_files_of_one_name(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "same.txt").write_text(name)
        (tmp_path / name / f"{name}.txt").write_text(name)
    with pytest.raises(SpecError, match="two files of one name") as caught:
        packed([tmp_path / "a", tmp_path / "b"], tmp_path / "x.tar")
    assert caught.value.facts[0] == f"same.txt: in {tmp_path}/a and in {tmp_path}/b"
    assert not list(tmp_path.glob("x*"))
    (tmp_path / "b" / "same.txt").unlink()
    packed([tmp_path / "a", tmp_path / "b"], tmp_path / "x.tar", force=True)
    assert list(data.open(tmp_path / "x.tar").names) == ["a.txt", "b.txt", "same.txt"]


def test_a_pack_does_not_pack_itself(tmp_path: Path) -> None:
    source = many_files(tmp_path / "in", 10)
    packed(source, source / "x.tar")
    packed(source, source / "x.tar", force=True)
    assert len(data.open(source / "x.tar")) == 10


def test_an_empty_folder(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    with pytest.raises(SpecError, match="there are no files in"):
        packed(tmp_path / "in", tmp_path / "x.tar")
    assert os.listdir(tmp_path) == ["in"]


# ── faults ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_file_that_went_away_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = many_files(tmp_path / "in", 40)
    (source / "class1" / "big.bin").write_bytes(bytes(2_000_000))
    listing = sources.Folder.listing

    def listed_then_gone(self: sources.Folder, **how: object) -> object:
        found = listing(self, **how)  # type: ignore[arg-type]
        (source / "class0" / "00000.jpg").unlink()
        (source / "class1" / "big.bin").unlink()
        return found

    monkeypatch.setattr(sources.Folder, "listing", listed_then_gone)
    report = packed(source, tmp_path / "x.tar")
    assert report.problems == [(b"class0/00000.jpg", "it has gone"), (b"class1/big.bin", "it has gone")]
    pack = data.open(tmp_path / "x.tar", check=True)
    assert {os.fsencode(name): content for name, content in pack.items()} == contents(source)


@pytest.mark.parametrize("size", [5000, 3_000_000])
def test_a_file_that_changes_all_the_time_is_never_torn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    source = many_files(tmp_path / "in", 10)
    (source / "busy").write_bytes(bytes(size))
    check = sources._check_same

    def busy(before: os.stat_result, after: os.stat_result, read: int) -> None:
        if before.st_size == size:
            with open(source / "busy", "ab") as file:
                file.write(b"")
            os.utime(source / "busy", ns=(0, time.time_ns()))
            after = os.stat(source / "busy")
        check(before, after, read)

    monkeypatch.setattr(sources, "_check_same", busy)
    report = packed(source, tmp_path / "x.tar")
    assert report.problems == [(b"busy", "it changed while it was read")]
    assert "busy" not in data.open(tmp_path / "x.tar", check=True).names
    assert gnu_contents(tmp_path / "x.tar", tmp_path / "out").keys() == contents(source).keys() - {b"busy"}


def test_an_unreadable_file_does_not_keep_a_packing_from_going_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = many_files(tmp_path / "in", 600)
    fetch = sources.Folder._fetch

    def refused(self: sources.Folder, name: bytes) -> object:
        if name == b"class0/00000.jpg":
            raise PermissionError(13, "Permission denied")
        return fetch(self, name)

    monkeypatch.setattr(sources.Folder, "_fetch", refused)
    stop = threading.Event()
    append = journal.Journal.append

    def some(self: object, members: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        append(self, members)  # type: ignore[arg-type]
        stop.set()

    monkeypatch.setattr(journal.Journal, "append", some)
    with pytest.raises(KeyboardInterrupt):
        packed(source, tmp_path / "x.tar")
    monkeypatch.setattr(journal.Journal, "append", append)
    report = packed(source, tmp_path / "x.tar")
    assert report.went_on_at > 0
    assert [name for name, _ in report.problems] == [b"class0/00000.jpg"]
    assert len(data.open(tmp_path / "x.tar")) == 599


def test_a_full_disk_keeps_what_is_packed(tmp_path: Path) -> None:
    source = many_files(tmp_path / "in", 600)
    packed(source, tmp_path / "once.tar")
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (800_000, limit[1]))
        with pytest.raises(VoyageurError, match="cannot be written: File too large") as caught:
            packed(source, tmp_path / "x.tar")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        signal.signal(signal.SIGXFSZ, ignored)
    assert caught.value.exit_code == 1
    assert not list(tmp_path.glob("x*"))
    assert packed(source, tmp_path / "x.tar").went_on_at > 0
    assert (tmp_path / "x.tar").read_bytes() == (tmp_path / "once.tar").read_bytes()


# ── archives as sources ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("how", ["z", "j", "J", ""])
def test_other_tars_are_packed_anew(tmp_path: Path, how: str) -> None:
    source = many_files(tmp_path / "in", 40)
    subprocess.run(["tar", f"-c{how}f", "old.tar.any", "-C", "in", "."], cwd=tmp_path, check=True)
    packed(source, tmp_path / "direct.tar")
    packed(tmp_path / "old.tar.any", tmp_path / "x.tar")
    assert (tmp_path / "x.tar").read_bytes() == (tmp_path / "direct.tar").read_bytes()


def test_a_broken_archive_as_a_source(tmp_path: Path) -> None:
    many_files(tmp_path / "in", 40)
    subprocess.run(["tar", "-czf", "old.tar.gz", "in"], cwd=tmp_path, check=True)
    (tmp_path / "cut.tar.gz").write_bytes((tmp_path / "old.tar.gz").read_bytes()[:3000])
    with pytest.raises(SpecError, match="is broken"):
        packed(tmp_path / "cut.tar.gz", tmp_path / "x.tar")
    assert not list(tmp_path.glob("x*"))
