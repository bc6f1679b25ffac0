"""Unpacking archives that mean harm: nothing outside, nothing special, nothing half-made."""

from __future__ import annotations

import io
import os
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.data.trees import contents, many_files, nothing, packed
from voyageur.data.errors import PackError
from voyageur.data.unpacking import Unpacked, unpack
from voyageur.errors import SpecError
from voyageur.job import data
from voyageur.job.data.index import Archive, Builder


def unpacked(archive: Path, out: Path, *patterns: str) -> Unpacked:
    return unpack(data.open(archive), patterns, str(out), nothing, nothing)


def tar_of(path: Path, *members: tarfile.TarInfo) -> Path:
    with tarfile.open(path, "w") as archive:
        for member in members:
            archive.addfile(member, io.BytesIO(b"x" * member.size) if member.isreg() else None)
    return path


def file(name: str, size: int = 3, mode: int = 0o644) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.size, member.mode = size, mode
    return member


def other(name: str, kind: bytes, target: str = "", **more: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, target
    for key, value in more.items():
        setattr(member, key, value)
    return member


def test_back_and_forth(tmp_path: Path) -> None:
    source = many_files(tmp_path / "in")
    (source / "hollow" / "inner").mkdir(parents=True)
    (source / os.fsdecode(b"not \xff utf-8")).write_text("odd")
    (source / "run.sh").write_text("#!")
    (source / "run.sh").chmod(0o755)
    os.symlink("../class0", source / "hollow" / "link")
    packed(source, tmp_path / "x.tar")
    made = unpacked(tmp_path / "x.tar", tmp_path / "out")
    assert contents(tmp_path / "out") == contents(source)
    assert (made.members, made.problems, +made.left_out) == (303, [], {})
    assert os.readlink(tmp_path / "out" / "hollow" / "link") == "../class0"
    assert (tmp_path / "out" / "hollow" / "inner").is_dir()
    assert (tmp_path / "out" / "run.sh").stat().st_mode & 0o777 == 0o755


def test_patterns(tmp_path: Path) -> None:
    source = many_files(tmp_path / "in")
    packed(source, tmp_path / "x.tar")
    unpacked(tmp_path / "x.tar", tmp_path / "out", "class1/*.cls", "class2/", "class3/00003.jpg")
    names = {os.fsdecode(name) for name in contents(tmp_path / "out")}
    assert names == {
        os.fsdecode(name)
        for name in contents(source)
        if (name.startswith(b"class1/") and name.endswith(b".cls"))
        or name.startswith(b"class2/")
        or name == b"class3/00003.jpg"
    }
    with pytest.raises(SpecError, match="is called nothing/"):
        unpacked(tmp_path / "x.tar", tmp_path / "none", "class1/", "nothing/")
    assert not (tmp_path / "none").exists()


def test_a_folder_that_is_there_stays_as_it_is(tmp_path: Path) -> None:
    packed(many_files(tmp_path / "in", 10), tmp_path / "x.tar")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("mine")
    with pytest.raises(SpecError, match="is there already"):
        unpacked(tmp_path / "x.tar", tmp_path / "out")
    assert contents(tmp_path / "out") == {b"mine": b"mine"}
    os.symlink(tmp_path, tmp_path / "link")
    with pytest.raises(SpecError, match="is there already"):
        unpacked(tmp_path / "x.tar", tmp_path / "link")


HOSTILE: dict[str, list[tarfile.TarInfo]] = {
    "absolute": [file("/tmp/voyageur-escaped")],
    "up": [file("../escaped"), file("a/../../escaped"), file("..")],
    "through a link": [other("l", tarfile.SYMTYPE, ".."), file("l/escaped")],
    "through a link to a link": [
        other("a", tarfile.SYMTYPE, "b"),
        other("b", tarfile.SYMTYPE, ".."),
        file("a/escaped"),
    ],
    "absolute link": [other("l", tarfile.SYMTYPE, "/etc"), file("l/escaped")],
    "chain of links": [
        *[other("/".join(["d"] * depth), tarfile.DIRTYPE) for depth in range(1, 9)],
        other("l", tarfile.SYMTYPE, "/".join(["d"] * 8)),
        other("m", tarfile.SYMTYPE, "l/" + "/".join([".."] * 12)),
        other("m/escaped", tarfile.SYMTYPE, "x"),
    ],
    "link in a folder that is a link": [other("l", tarfile.SYMTYPE, ".."), other("l/escaped", tarfile.SYMTYPE, "x")],
    "hard link outside": [other("escaped", tarfile.LNKTYPE, "../victim"), other("e2", tarfile.LNKTYPE, "/etc/passwd")],
    "device": [other("escaped", tarfile.CHRTYPE, devmajor=1, devminor=5), other("fifo", tarfile.FIFOTYPE)],
    "name of a folder": [file("a"), file("a/b")],
    "name of the folder": [file("."), file("./")],
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_nothing_reaches_outside(tmp_path: Path, kind: str) -> None:
    (tmp_path / "victim").write_text("victim")
    archive = tar_of(tmp_path / "x.tar", file("good"), *HOSTILE[kind])
    unpacked(archive, tmp_path / "in" / "out")
    assert sorted(os.listdir(tmp_path)) == ["in", "victim", "x.tar"] and os.listdir(tmp_path / "in") == ["out"]
    assert (tmp_path / "victim").read_text() == "victim" and (tmp_path / "victim").stat().st_nlink == 1
    assert not os.path.lexists("/tmp/voyageur-escaped")
    root = tmp_path / "in" / "out"
    for path in root.rglob("*"):
        assert root in path.resolve().parents
        assert path.is_symlink() or path.is_file() or path.is_dir()
    assert contents(root)[b"good"] == b"xxx"


def test_modes_that_give_rights_are_not_taken_over(tmp_path: Path) -> None:
    unpacked(tar_of(tmp_path / "x.tar", file("su", mode=0o6777), file("open", mode=0o666)), tmp_path / "out")
    assert (tmp_path / "out" / "su").stat().st_mode & 0o7777 == 0o755
    assert (tmp_path / "out" / "open").stat().st_mode & 0o7777 == 0o644


def test_a_bomb_of_holes_writes_nothing(tmp_path: Path) -> None:
    bomb = file("bomb", 0)
    bomb.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.realsize": str(1 << 40), "GNU.sparse.name": "bomb"}
    with tarfile.open(tmp_path / "x.tar", "w", format=tarfile.PAX_FORMAT) as archive:
        archive.addfile(bomb)
        archive.addfile(file("good"), io.BytesIO(b"xxx"))
    made = unpacked(tmp_path / "x.tar", tmp_path / "out")
    assert contents(tmp_path / "out") == {b"good": b"xxx"}
    assert made.members == 1


def test_an_index_that_promises_more_than_the_disk_holds(tmp_path: Path) -> None:
    archive = tar_of(tmp_path / "x.tar", file("a", 1 << 20))
    status = archive.stat()
    builder = Builder()
    for number in range(150_000):
        builder.add(b"%d" % number, 512, 1 << 20, 0)
    told = Archive("x.tar", status.st_size, status.st_mtime_ns, "")
    (tmp_path / "x.tar.idx").write_bytes(b"".join(builder.parts([told])))
    with pytest.raises(SpecError, match="there is no room for it"):
        unpacked(archive, tmp_path / "out")
    assert sorted(os.listdir(tmp_path)) == ["x.tar", "x.tar.idx"]


def test_zip_slip(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        for name in ("../escaped", "/escaped", "good"):
            archive.writestr(name, "x")
    made = unpacked(tmp_path / "x.zip", tmp_path / "in" / "out")
    assert contents(tmp_path / "in" / "out") == {b"good": b"x"}
    assert made.left_out["names that lead outside"] == 2
    assert not (tmp_path / "in" / "escaped").exists()


def test_a_member_that_was_damaged_is_named_and_not_written(tmp_path: Path) -> None:
    packed(many_files(tmp_path / "in", 20), tmp_path / "x.tar")
    place = data.open(tmp_path / "x.tar").table.place(3)  # type: ignore[attr-defined]
    with open(tmp_path / "x.tar", "r+b") as archive:
        archive.seek(place.offset)
        archive.write(b"\xff\x00\xff")
    made = unpacked(tmp_path / "x.tar", tmp_path / "out")
    assert [reason for _, reason in made.problems] == ["its checksum is not right"]
    assert len(contents(tmp_path / "out")) == 19


@pytest.mark.parametrize("call", ["write", "mkdir"])
def test_a_full_disk_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    packed(many_files(tmp_path / "in", 200), tmp_path / "x.tar")
    pack = data.open(tmp_path / "x.tar")
    real: Callable[..., int] = getattr(os, call)
    left = [1 if call == "mkdir" else 50]

    def full(*arguments: object) -> int:
        left[0] -= 1
        if left[0] < 0:
            raise OSError(28, "No space left on device")
        return real(*arguments)

    monkeypatch.setattr(os, call, full)
    with pytest.raises(PackError, match="cannot be made: No space left on device"):
        unpack(pack, (), str(tmp_path / "out"), nothing, nothing)
    monkeypatch.undo()
    assert sorted(os.listdir(tmp_path)) == ["in", "x.tar", "x.tar.idx"]
