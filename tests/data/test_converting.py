"""Other forms: what comes back is what was packed; each can be read without us; nothing half is left."""

from __future__ import annotations

import io
import os
import shutil
import signal
import struct
import subprocess
import sys
import tarfile
import time
import zipfile
from pathlib import Path

import h5py
import lmdb
import numpy as np
import pytest

from tests.data.trees import contents, many_files, nothing, packed
from tests.place import VOY
from voyageur.commands.data.convert import FORMS
from voyageur.data import converting
from voyageur.data.converting import Converted
from voyageur.data.errors import PackError
from voyageur.data.forms import crc32c, example, trees
from voyageur.data.forms.known import NAMES
from voyageur.data.packing import Report
from voyageur.errors import SpecError
from voyageur.job import data

TARGETS = ["x.h5", "x.lmdb", "x.tfrecord", "x.zip", "x.squashfs", "folder", "s-000000.tar"]
ODD = {b"no ending": b"1", b".hidden.jpg": b"", b"a.b.c": b"2", b"class1/deep/er.txt": b"3" * 70_000}

has_squashfs = pytest.mark.skipif(not shutil.which("sqfstar"), reason="squashfs-tools are not installed")


def forms(names: list[str]) -> list[object]:
    return [pytest.param(name, marks=has_squashfs if name.endswith("squashfs") else ()) for name in names]


def convert(source: Path, target: Path, **how: object) -> Converted | Report:
    asked: dict[str, object] = {"source_is": None, "to": None, "shard": 0, "force": False}
    return converting.convert(str(source), str(target), listed=nothing, done=nothing, **{**asked, **how})  # type: ignore[arg-type]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    folder = many_files(tmp_path / "raw", 60)
    for name, content in ODD.items():
        path = folder / os.fsdecode(name)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
    return folder


@pytest.fixture
def pack(files: Path, tmp_path: Path) -> Path:
    packed(files, tmp_path / "x.tar")
    return tmp_path / "x.tar"


@pytest.mark.parametrize("target", forms(TARGETS))
def test_there_and_back(pack: Path, tmp_path: Path, target: str) -> None:
    (tmp_path / "made").mkdir()
    made = convert(pack, tmp_path / "made" / target)
    assert made.members == 64
    convert(tmp_path / "made" / target, tmp_path / "back.tar")
    assert (tmp_path / "back.tar").read_bytes() == pack.read_bytes()
    assert not [name for name in os.listdir(tmp_path / "made") if name.startswith(".")]


@pytest.mark.parametrize("source", forms(TARGETS))
def test_from_each_form_to_another(pack: Path, files: Path, tmp_path: Path, source: str) -> None:
    convert(pack, tmp_path / source)
    convert(tmp_path / source, tmp_path / "out.zip")
    with zipfile.ZipFile(tmp_path / "out.zip") as archive:
        assert {name.encode(): archive.read(name) for name in archive.namelist()} == contents(files)


# ── each as others read it ───────────────────────────────────────────────────────────────────────────────────────────


def test_hdf5_as_others_read_it(pack: Path, files: Path, tmp_path: Path) -> None:
    convert(pack, tmp_path / "x.h5")
    with h5py.File(tmp_path / "x.h5") as file:
        names = list(file["names"])
        assert {name: file["content"][row].tobytes() for row, name in enumerate(names)} == contents(files)
        assert [len(content) for content in file["content"]] == list(file["sizes"])
        assert names == [name.encode() for name in data.open(pack).names]


def test_rows_of_one_byte_stay_rows(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for number in range(7):
        (tmp_path / "in" / str(number)).write_bytes(b"%d" % number)
    convert(tmp_path / "in", tmp_path / "x.h5")
    with h5py.File(tmp_path / "x.h5") as file:
        assert [row.tobytes() for row in file["content"]] == [b"%d" % number for number in range(7)]


def test_lmdb_as_others_read_it(pack: Path, files: Path, tmp_path: Path) -> None:
    convert(pack, tmp_path / "x.lmdb")
    with lmdb.open(str(tmp_path / "x.lmdb"), readonly=True, lock=False) as made, made.begin() as reading:
        assert dict(reading.cursor()) == contents(files)


def test_tfrecord_as_tensorflow_writes_it(tmp_path: Path) -> None:
    """The bytes by hand, from the two formats' own descriptions; crc32c's check value is that of RFC 3720."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "7.cls").write_bytes(b"3")
    (tmp_path / "in" / "7.jpg").write_bytes(b"\xff\xd8")
    convert(tmp_path / "in", tmp_path / "x.tfrecord")
    features = b""
    for key, value in ((b"cls", b"3"), (b"jpg", b"\xff\xd8"), (b"name", b"7")):
        bytes_list = bytes((0x0A, len(value))) + value
        feature = bytes((0x0A, len(bytes_list))) + bytes_list
        entry = bytes((0x0A, len(key))) + key + bytes((0x12, len(feature))) + feature
        features += bytes((0x0A, len(entry))) + entry
    record = bytes((0x0A, len(features))) + features
    length = struct.pack("<Q", len(record))
    wanted = length + masked_by_hand(length) + record + masked_by_hand(record)
    assert (tmp_path / "x.tfrecord").read_bytes() == wanted
    assert (tmp_path / "x.tfrecord.idx").read_text() == f"0 {len(wanted)}\n"


def masked_by_hand(content: bytes) -> bytes:
    crc = crc32c.by_table(content)
    return struct.pack("<I", (((crc >> 15) | (crc << 17 & 0xFFFFFFFF)) + 0xA282EAD8) & 0xFFFFFFFF)


def test_the_checksum_of_tfrecord() -> None:
    assert crc32c.by_table(b"123456789") == 0xE3069283
    assert crc32c.by_table(bytes(32)) == 0x8A9136AA
    assert crc32c.crc32c(memoryview(b"123456789")) == 0xE3069283


def test_every_record_stands_where_dalis_index_says(pack: Path, tmp_path: Path) -> None:
    convert(pack, tmp_path / "x.tfrecord")
    whole = (tmp_path / "x.tfrecord").read_bytes()
    at = 0
    for line in (tmp_path / "x.tfrecord.idx").read_text().splitlines():
        start, size = map(int, line.split())
        assert start == at and struct.unpack_from("<Q", whole, start)[0] == size - 16
        at += size
    assert at == len(whole)


@has_squashfs
def test_squashfs_as_others_read_it(pack: Path, files: Path, tmp_path: Path) -> None:
    (files / 'with space \\ and "').write_text("x")
    packed(files, pack, force=True)
    convert(pack, tmp_path / "x.sqfs")
    subprocess.run(["unsquashfs", "-q", "-n", "-d", "out", "x.sqfs"], cwd=tmp_path, check=True, capture_output=True)
    assert contents(tmp_path / "out") == contents(files)
    convert(tmp_path / "x.sqfs", tmp_path / "back.tar")
    assert dict(data.open(tmp_path / "back.tar").items()) == dict(data.open(pack).items())


def test_webdatasets_shards_without_an_index(pack: Path, files: Path, tmp_path: Path) -> None:
    convert(pack, tmp_path / "s-000000.tar", shard=50_000)
    assert (tmp_path / "s-000002.tar").exists()
    os.unlink(tmp_path / "s.tar.idx")
    convert(tmp_path / "s-000000.tar", tmp_path / "out.h5")
    convert(tmp_path / "s-000000.tar", tmp_path / "back.tar")
    assert (tmp_path / "back.tar").read_bytes() == pack.read_bytes()
    shutil.copy(tmp_path / "s-000000.tar", tmp_path / "s-000009.tar")
    with pytest.raises(SpecError, match="two files of one name"):
        convert(tmp_path / "s-000000.tar", tmp_path / "twice.h5")


# ── what cannot be ───────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("name", "target", "why"),
    [
        (b"odd \xff.jpg", "x.zip", "its name is not UTF-8"),
        (b"a.odd\xff", "x.tfrecord", "its extension is not UTF-8"),
        (b"a.name", "x.tfrecord", "the feature `name` is the sample's own"),
        (b"a.", "x.tfrecord", "a name that ends in a dot"),
        (b"/".join([b"a" * 200] * 3), "x.lmdb", "a name of 602 bytes; 511 at most"),
        (b"a\nb", "x.squashfs", "a line's end in its name"),
    ],
)
def test_names_that_a_form_cannot_hold_are_said(tmp_path: Path, name: bytes, target: str, why: str) -> None:
    path = tmp_path / "in" / os.fsdecode(name)
    path.parent.mkdir(parents=True)
    path.write_text("x")
    (tmp_path / "in" / "good.jpg").write_text("x")
    with pytest.raises(SpecError) as caught:
        convert(tmp_path / "in", tmp_path / target)
    assert str(caught.value).startswith("1 of 2 files cannot be in a ") and why in str(caught.value.facts)
    assert os.listdir(tmp_path) == ["in"]


def tar_of(path: Path, *members: tuple[str, bytes, bytes]) -> Path:
    with tarfile.open(path, "w") as archive:
        for name, kind, content in members:
            about = tarfile.TarInfo(name)
            about.type, about.size = kind, len(content) if kind == tarfile.REGTYPE else 0
            about.linkname = content.decode() if kind == tarfile.SYMTYPE else ""
            archive.addfile(about, io.BytesIO(content))
    return path


def test_hostile_archives_stay_outside(tmp_path: Path) -> None:
    members = (("../evil", tarfile.REGTYPE, b"x"), ("/etc/evil", tarfile.REGTYPE, b"x"), ("ok", tarfile.REGTYPE, b"1"))
    source = tar_of(tmp_path / "h.tar", *members, ("ok", tarfile.REGTYPE, b"2"), ("link", tarfile.SYMTYPE, b"/etc"))
    made = convert(source, tmp_path / "x.lmdb")
    assert (
        made.left_out["names that lead outside"] >= 1 and made.left_out["older files of a name that comes again"] == 1
    )
    with lmdb.open(str(tmp_path / "x.lmdb"), readonly=True, lock=False) as opened, opened.begin() as reading:
        found = dict(reading.cursor())
    assert found[b"ok"] == b"2" and not any(b".." in name or name.startswith(b"/") for name in found)


def test_a_name_that_is_a_file_and_a_folder(tmp_path: Path) -> None:
    source = tar_of(tmp_path / "h.tar", ("a", tarfile.REGTYPE, b"x"), ("a/b", tarfile.REGTYPE, b"x"))
    convert(source, tmp_path / "x.zip")
    with pytest.raises(SpecError) as caught:
        convert(source, tmp_path / "out", to="folder")
    assert list(caught.value.facts) == ["a: a file here and a folder there"]
    assert not (tmp_path / "out").exists()


def test_hdf5_that_would_read_other_files(pack: Path, tmp_path: Path) -> None:
    convert(pack, tmp_path / "x.h5")
    with h5py.File(tmp_path / "x.h5", "a") as file:
        del file["names"]
        file["names"] = h5py.ExternalLink("other.h5", "/names")
    with pytest.raises(SpecError, match="laid out in another way"):
        convert(tmp_path / "x.h5", tmp_path / "out.zip")
    with h5py.File(tmp_path / "y.h5", "w") as file:
        file["names"], file["content"] = ["a"], np.arange(3)
        file.create_dataset("sizes", (1,), "<i8", external=[("/etc/passwd", 0, 8)])
    with pytest.raises(SpecError, match="laid out in another way"):
        convert(tmp_path / "y.h5", tmp_path / "out.zip")


@pytest.mark.parametrize(("at", "what"), [(3, "none of the forms"), (40, "is broken"), (-2, "is broken")])
def test_a_flipped_byte_in_a_tfrecord(pack: Path, tmp_path: Path, at: int, what: str) -> None:
    convert(pack, tmp_path / "x.tfrecord")
    whole = bytearray((tmp_path / "x.tfrecord").read_bytes())
    whole[at] ^= 1
    (tmp_path / "x.tfrecord").write_bytes(whole)
    with pytest.raises(SpecError, match=what):
        convert(tmp_path / "x.tfrecord", tmp_path / "out.zip")
    (tmp_path / "x.tfrecord").write_bytes(whole[:-30])
    with pytest.raises(SpecError):
        convert(tmp_path / "x.tfrecord", tmp_path / "out.tar")


@pytest.mark.parametrize("message", [b"\x0a", b"\x0a\x7f", b"\xff" * 12, b"\x0b", b"\x0a\x04\x0a\x02\x0a\x05"])
def test_messages_that_are_none(message: bytes) -> None:
    with pytest.raises(example.Malformed):
        example.decode(memoryview(message))


def test_other_peoples_examples_are_told(tmp_path: Path) -> None:
    number = b"\x0a\x0d\x0a\x0b\x0a\x01l\x12\x06\x1a\x04\x0a\x02\x03\x04"  # l: an Int64List
    length = struct.pack("<Q", len(number))
    whole = length + masked_by_hand(length) + number + masked_by_hand(number)
    (tmp_path / "x.tfrecord").write_bytes(whole)
    with pytest.raises(SpecError, match="holds something else than files"):
        convert(tmp_path / "x.tfrecord", tmp_path / "out.zip")


# ── whole, or not at all ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("target", ["x.h5", "x.lmdb", "x.tfrecord", "x.zip", "folder"])
def test_what_is_there_stays_until_the_new_one_is_whole(pack: Path, files: Path, tmp_path: Path, target: str) -> None:
    convert(pack, tmp_path / target)
    with pytest.raises(SpecError, match="already"):
        convert(pack, tmp_path / target)
    place = data.open(pack).table.place(20)  # type: ignore[attr-defined]
    with open(pack, "r+b") as file:
        file.seek(place.offset)
        file.write(b"changed")
    before = sorted(os.listdir(tmp_path))
    with pytest.raises(SpecError, match="is not what was packed"):
        convert(pack, tmp_path / target, force=True)
    assert sorted(os.listdir(tmp_path)) == before
    packed(files, pack, force=True)
    convert(pack, tmp_path / target, force=True)
    convert(tmp_path / target, tmp_path / "back.tar")
    assert (tmp_path / "back.tar").read_bytes() == pack.read_bytes()


def test_interrupted_it_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.bin").write_bytes(bytes(40_000_000))
    blocked = "import sys; sys.modules['google_crc32c'] = None\n"  # the table is slow enough to be interrupted
    program = (
        f"{blocked}from voyageur.cli import main\nsys.argv = ['voy', 'data', 'convert', 'in', 'x.tfrecord']\nmain()"
    )
    process = subprocess.Popen([sys.executable, "-c", program], cwd=tmp_path, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 20
    while not list(tmp_path.glob(".x.tfrecord.*/x.tfrecord")) and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    assert process.returncode != 0 and os.listdir(tmp_path) == ["in"]


def test_a_full_disk_leaves_nothing(pack: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(zipfile.ZipFile, "open", full)
    with pytest.raises(PackError, match="No space left on device"):
        convert(pack, tmp_path / "x.zip")
    assert sorted(os.listdir(tmp_path)) == ["raw", "x.tar", "x.tar.idx"]


def test_a_library_that_gives_up_leaves_nothing(pack: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opening = lmdb.open
    monkeypatch.setattr(lmdb, "open", lambda path, **how: opening(path, **{**how, "map_size": 100_000}))
    with pytest.raises(PackError, match=r"^\S+/x.lmdb cannot be made: .*MDB_MAP_FULL"):
        convert(pack, tmp_path / "x.lmdb")
    assert sorted(os.listdir(tmp_path)) == ["raw", "x.tar", "x.tar.idx"]


def test_more_than_the_disk_holds_is_refused_first(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    with open(tmp_path / "in" / "holes", "wb") as file:
        file.truncate(1 << 43)
    with pytest.raises(SpecError, match="there is no room for it"):
        convert(tmp_path / "in", tmp_path / "x.zip")
    assert os.listdir(tmp_path) == ["in"]


def test_a_library_that_is_missing(pack: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, target in (("h5py", "x.h5"), ("lmdb", "x.lmdb")):
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(SpecError) as caught:
            convert(pack, tmp_path / target)
        assert str(caught.value) == f"{name} is not installed"
        assert caught.value.hint == "pip install 'voyageur[convert]'"
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(SpecError, match="sqfstar is not installed"):
        convert(pack, tmp_path / "x.squashfs")


def test_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a").write_text("a")
    os.symlink("a", tmp_path / "in" / "inside")
    os.symlink("/etc/passwd", tmp_path / "in" / "outside")
    tree = trees.Tree(str(tmp_path / "in"), "")
    assert list(tree.names) == ["a"] and tree.left_out == {
        "symbolic links that lead outside": 1,
        "links and empty folders": 1,
    }


def test_what_is_no_file_is_counted(tmp_path: Path) -> None:
    (tmp_path / "in" / "empty").mkdir(parents=True)
    (tmp_path / "in" / "a").write_text("a")
    (tmp_path / "in" / "a").chmod(0o755)
    os.symlink("a", tmp_path / "in" / "link")
    convert(tmp_path / "in", tmp_path / "x.tar")
    for target in ("x.zip", "y.tar", "y-000000.tar"):
        assert convert(tmp_path / "x.tar", tmp_path / target, force=True).left_out == {"links and empty folders": 2}
    assert not +convert(tmp_path / "x.tar", tmp_path / "out").left_out
    assert os.readlink(tmp_path / "out" / "link") == "a" and os.access(tmp_path / "out" / "a", os.X_OK)


def test_as_it_is_typed(pack: Path, tmp_path: Path) -> None:
    def voy(*words: str) -> subprocess.CompletedProcess[str]:
        argv = [*VOY, "data", "convert", *words]
        return subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)

    assert voy("x.tar", "x.lmdb").stdout.startswith(f"{tmp_path}/x.lmdb: 64 files, ")
    answer = voy("x.lmdb", "y.tar", "--shards", "100K")
    assert answer.returncode == 0 and "shards, " in answer.stdout, answer
    assert voy("y.tar", "out").stdout.startswith(f"{tmp_path}/out: 64 files, ")
    assert contents(tmp_path / "out") == contents(tmp_path / "raw")
    for words, what in (
        (("x.tar", "x.rar"), "no ending that says"),
        (("nothing", "x.zip"), "there is no nothing"),
        (("x.tar.idx", "x.zip", "--from", "hdf5"), "is no hdf5"),
        (("x.tar", "x.tar"), "are the same"),
        (("x.tar", "z.h5", "--shards", "1G"), "--shards is for tars"),
        (("x.tar", "no/such/x.zip"), "cannot be made"),
    ):
        answer = voy(*words)
        assert what in answer.stderr and answer.returncode in (1, 2) and "Traceback" not in answer.stderr, answer


def test_the_command_knows_all_forms() -> None:
    assert sorted(FORMS) == sorted(NAMES)
