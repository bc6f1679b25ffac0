"""Archives from outside: nothing leaves the folder, nothing half-unpacked is left."""

import io
import os
import stat
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from voyageur.job.data.errors import BrokenPack, DataError
from voyageur.job.data.extract import Hostile, Limits, unpack

ROOM = Limits(1 << 30)
Member = tuple[str, bytes, dict[str, object]]


def tar_of(path: Path, *members: Member) -> str:
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as tar:
        for name, content, facts in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            for key, value in facts.items():
                setattr(info, key, value)
            tar.addfile(info, io.BytesIO(content))
    return str(path)


def link(name: str, target: str) -> Member:
    return name, b"", {"type": tarfile.SYMTYPE, "linkname": target}


def hard(name: str, target: str) -> Member:
    return name, b"", {"type": tarfile.LNKTYPE, "linkname": target}


def plain(name: str, content: bytes = b"x", **facts: object) -> Member:
    return name, content, facts


HOSTILE: dict[str, list[Member]] = {
    "absolute": [plain("/etc/voyageur-was-here")],
    "up": [plain("../up")],
    "up inside": [plain("a/../../up")],
    "link to outside": [link("l", "/etc")],
    "link up": [link("a/l", "../../out")],
    "link that climbs later": [plain("a/b/x"), link("up", "a/b"), link("l", "up/../../../out")],
    "written through a link": [link("l", "/tmp"), plain("l/voyageur-was-here")],
    "hard link to outside": [hard("h", "/etc/passwd")],
    "hard link up": [hard("h", "../x")],
    "hard link through a link": [plain("a"), link("l", "a"), hard("h", "l")],
    "pipe": [("p", b"", {"type": tarfile.FIFOTYPE})],
    "device": [("d", b"", {"type": tarfile.CHRTYPE, "devmajor": 1, "devminor": 3})],
    "file and folder": [plain("a"), plain("a/b")],
    "very deep": [plain("d/" * 200 + "x")],
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_no_dataset_needs_is_refused_and_nothing_is_left(name: str, tmp_path: Path) -> None:
    archive = tar_of(tmp_path / "evil.tar", *HOSTILE[name])
    inside = tmp_path / "inside"
    inside.mkdir()
    with pytest.raises(Hostile, match="not safe to unpack"):
        unpack(archive, str(inside / "out"), ROOM)
    assert list(inside.iterdir()) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["evil.tar", "inside"]
    assert not Path("/etc/voyageur-was-here").exists() and not Path("/tmp/voyageur-was-here").exists()


def test_a_bomb_is_stopped_before_it_is_written(tmp_path: Path) -> None:
    """A sparse file of a terabyte in ten kilobytes."""
    archive = tmp_path / "bomb.tar"
    with tarfile.open(archive, "w") as tar:
        info = tarfile.TarInfo("big")
        info.pax_headers = {
            "GNU.sparse.major": "0", "GNU.sparse.minor": "1", "GNU.sparse.name": "big",
            "GNU.sparse.size": str(1 << 40), "GNU.sparse.numblocks": "1", "GNU.sparse.map": "0,1",
        }  # fmt: skip
        info.size = 1
        tar.addfile(info, io.BytesIO(b"x"))
    with pytest.raises(Hostile, match="more than there is room for"):
        unpack(str(archive), str(tmp_path / "out"), ROOM)
    assert not (tmp_path / "out").exists()


def test_too_many_members_are_too_many(tmp_path: Path) -> None:
    archive = tar_of(tmp_path / "many.tar", *(plain(f"{number}", b"") for number in range(20)))
    with pytest.raises(Hostile, match="in 11 members"):
        unpack(archive, str(tmp_path / "out"), Limits(1 << 20, 10))


def test_modes_links_and_names_come_out_as_they_should(tmp_path: Path) -> None:
    archive = tar_of(
        tmp_path / "good.tar",
        plain("./a/run.sh", b"1", mode=0o6755), plain("a/data", b"22", mode=0o444), plain("a/data", b"333"),
        link("a/l", "data"), link("b/up", "../a/l"), hard("b/h", "a/run.sh"), plain("\udcff", b"odd"),
    )  # fmt: skip
    unpack(archive, str(tmp_path / "out"), ROOM)
    out = tmp_path / "out"
    assert stat.S_IMODE((out / "a" / "run.sh").stat().st_mode) & 0o6000 == 0
    assert os.access(out / "a" / "run.sh", os.X_OK) and (out / "b" / "h").read_bytes() == b"1"
    assert (out / "a" / "data").read_bytes() == b"333"
    assert (out / "b" / "up").read_bytes() == b"333"
    assert (out / "\udcff").read_bytes() == b"odd"


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1500])


def spoil(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)


@pytest.mark.parametrize("harm", [cut, spoil])
def test_a_broken_archive_leaves_nothing(harm: Callable[[Path], None], tmp_path: Path) -> None:
    path = tmp_path / "x.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        (tmp_path / "noise").write_bytes(os.urandom(200_000))
        tar.add(tmp_path / "noise", "noise")
    harm(path)
    with pytest.raises(DataError):
        unpack(str(path), str(tmp_path / "out"), ROOM)
    assert not [name for name in os.listdir(tmp_path) if name.startswith("out")]


def test_a_zip_that_slips(tmp_path: Path) -> None:
    path = tmp_path / "slip.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("../up", "x")
    with pytest.raises(Hostile):
        unpack(str(path), str(tmp_path / "out"), ROOM)
    entry = zipfile.ZipInfo("l")
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(entry, "/etc")
    with pytest.raises(Hostile):
        unpack(str(path), str(tmp_path / "out"), ROOM)
    assert not (tmp_path / "out").exists() and not (tmp_path / "up").exists()


def test_a_zip(tmp_path: Path) -> None:
    path = tmp_path / "good.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a/b.txt", "hello" * 1000)
        archive.writestr("empty/", "")
    unpack(str(path), str(tmp_path / "out"), ROOM)
    assert (tmp_path / "out" / "a" / "b.txt").read_text() == "hello" * 1000
    assert (tmp_path / "out" / "empty").is_dir()
    spoil(path)
    with pytest.raises(BrokenPack):
        unpack(str(path), str(tmp_path / "again"), ROOM)
