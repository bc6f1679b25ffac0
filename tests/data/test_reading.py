"""The reading library: one face for packs, folders and zips; safe in loader workers; clear about what is wrong."""

from __future__ import annotations

import io
import json
import multiprocessing
import os
import pickle
import subprocess
import sys
import time
import types
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from tests.data.trees import contents, many_files, packed
from tests.runtime.test_runtime_file import PYTHONS
from voyageur.job import data
from voyageur.job.data import Pack, source
from voyageur.job.data.index import Index
from voyageur.record.create import runtime_zip


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same files as a folder, a pack, shards, a zip, and a tar without an index."""
    folder = tmp_path_factory.mktemp("made")
    files = many_files(folder / "folder")
    packed(files, folder / "pack.tar")
    packed(files, folder / "shards.tar", shard=200_000)
    with zipfile.ZipFile(folder / "plain.zip", "w") as plain, zipfile.ZipFile(folder / "deflated.zip", "w", 8) as small:
        for name, content in contents(files).items():
            plain.writestr(name.decode(), content)
            small.writestr(name.decode(), content)
    subprocess.run(["tar", "-cf", "gnu.tar", "-C", "folder", "."], cwd=folder, check=True)
    return folder


FORMS = ["folder", "pack.tar", "shards.tar", "pack.tar.idx", "plain.zip", "deflated.zip", "gnu.tar"]


@pytest.mark.parametrize("form", FORMS)
def test_one_face(made: Path, form: str) -> None:
    wanted = contents(made / "folder")
    pack = data.open(made / form, check=True)
    names = list(pack.names)
    assert len(pack) == len(names) == len(wanted)
    assert {os.fsencode(name): bytes(pack.view(name)) for name in names} == wanted
    assert [content for _, content in pack.items()] == list(pack) == [wanted[os.fsencode(name)] for name in names]
    assert (pack[-1], pack[1:3], pack.number(names[7])) == (pack[names[-1]], [pack[1], pack[2]], 7)
    assert names[5] in pack.names and "no such" not in pack.names and names[5].encode() in pack
    assert pack.names.index(names[9]) == 9 and pack.size(3) == len(pack[3])
    assert sorted(pack.shuffled(1)) == list(range(len(pack))) and list(pack.shuffled(1)) == list(pack.shuffled(1))
    with pytest.raises(KeyError):
        pack["no such"]
    with pytest.raises(IndexError):
        pack[len(pack)]


@pytest.mark.parametrize("form", ["folder", "pack.tar", "shards.tar", "plain.zip"])
def test_samples(made: Path, form: str) -> None:
    samples = data.open(made / form).samples(views=True)
    assert len(samples) == 150
    for sample in samples:
        key = sample["__key__"]
        assert set(sample) == {"__key__", "jpg", "cls"}
        assert bytes(sample["jpg"]) == (made / "folder" / f"{key}.jpg").read_bytes()
    assert samples[-1]["__key__"] == samples[149]["__key__"]


def test_views_are_of_the_file_itself_and_cannot_be_written(made: Path) -> None:
    pack = data.open(made / "pack.tar")
    view = pack.view(5)
    assert view.readonly and not isinstance(view.obj, bytes)


def test_members_as_files(made: Path) -> None:
    pack = data.open(made / "pack.tar")
    with pack.file(1) as file:
        file.seek(-3, io.SEEK_END)
        assert file.read() == pack[1][-3:]
        file.seek(2)
        assert file.read(4) == pack[1][2:6]


# ── processes and threads ────────────────────────────────────────────────────────────────────────────────────────────


def everything(pack: Pack) -> int:
    return hash(tuple(pack[number] for number in pack.shuffled(3)))


@pytest.mark.parametrize("form", FORMS)
def test_pickled_it_opens_again(made: Path, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(made)
    pack = data.open(form)
    frozen = pickle.dumps(pack)
    monkeypatch.chdir("/")
    assert len(frozen) < 1000
    assert everything(pickle.loads(frozen)) == everything(pack)


@pytest.mark.parametrize("how", ["fork", "spawn"])
def test_loader_workers(made: Path, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONHASHSEED", "0")
    pack = data.open(made / "shards.tar")
    with multiprocessing.get_context(how).Pool(2) as pool:
        assert pool.map(pack.read, range(20)) == pack[:20]


def test_threads(made: Path) -> None:
    pack = data.open(made / "pack.tar", check=True)
    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(lambda _: everything(pack), range(16)))) == 1


# ── what a run has staged ────────────────────────────────────────────────────────────────────────────────────────────


def stage(monkeypatch: pytest.MonkeyPatch, file: Path, **entries: object) -> None:
    file.write_text(json.dumps({"version": 1, "data": entries}))
    monkeypatch.setenv("VOY_DATA", str(file))


def test_by_the_name_of_what_is_staged(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.link(made / "pack.tar", tmp_path / "node.tar")
    entry = {"path": str(tmp_path / "node.tar"), "index": str(made / "pack.tar.idx"), "unknown": 1}
    stage(monkeypatch, tmp_path / "data.json", imagenet=entry, labels={"path": str(made / "folder")})
    assert list(data.open("imagenet").names) == list(data.open("labels").names)
    assert data.open("imagenet").path == str(tmp_path / "node.tar")
    assert pickle.loads(pickle.dumps(data.open("imagenet")))[3] == data.open("labels")[3]
    with pytest.raises(data.NoSuchData) as caught:
        data.open("imagenett")
    assert "staged in this run: imagenet, labels" in str(caught.value)


def test_another_kind_of_source(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    class Counting(source.FileSource):
        def read(self, offset: int, size: int) -> bytes:
            asked.append(size)
            return super().read(offset, size)

    monkeypatch.setitem(source.KINDS, "counting", lambda path, facts: Counting(path))
    stage(monkeypatch, tmp_path / "data.json", x={"path": str(made / "pack.tar"), "source": "counting"})
    assert asked == [] or len(data.open("x")[4]) == asked[-1]
    assert len(data.open("x")[4]) == asked[-1]
    stage(monkeypatch, tmp_path / "data.json", x={"path": str(made / "pack.tar"), "source": "nonsense"})
    with pytest.raises(data.DataError, match="a source of kind 'nonsense' is not known"):
        data.open("x")


@pytest.mark.parametrize("text", ["", "[]", '{"data": 7}', '{"data": {"x": {}}}'])
def test_a_staged_file_that_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    (tmp_path / "data.json").write_text(text)
    monkeypatch.setenv("VOY_DATA", str(tmp_path / "data.json"))
    with pytest.raises(data.DataError, match="not what a run writes"):
        data.open("x")


@pytest.mark.parametrize("python", PYTHONS)
def test_it_travels_with_the_run(made: Path, tmp_path: Path, python: str) -> None:
    (tmp_path / "runtime.pyz").write_bytes(runtime_zip())
    program = "from voyageur.job import data; d = data.open('shards.tar', check=True); print(len(d), sum(map(len, d)))"
    argv = [python, "-c", program]
    around = {"PYTHONPATH": str(tmp_path / "runtime.pyz"), "PATH": "/usr/bin:/bin"}
    answer = subprocess.run(argv, cwd=made, env=around, capture_output=True, text=True, check=False)
    files = contents(made / "folder")
    assert answer.stdout == f"{len(files)} {sum(map(len, files.values()))}\n", answer.stderr


# ── the index ────────────────────────────────────────────────────────────────────────────────────────────────────────


def copied(made: Path, folder: Path) -> Path:
    for name in ("pack.tar", "pack.tar.idx"):
        (folder / name).write_bytes((made / name).read_bytes())
    return folder / "pack.tar"


def test_a_copy_with_another_time_is_as_good(made: Path, tmp_path: Path) -> None:
    copy = copied(made, tmp_path)
    os.utime(copy, (0, 0))
    assert everything(data.open(copy, check=True)) == everything(data.open(made / "pack.tar"))
    os.rename(copy, tmp_path / "other.tar")
    os.rename(tmp_path / "pack.tar.idx", tmp_path / "other.tar.idx")
    assert len(data.open(tmp_path / "other.tar")) == 300


def test_the_index_of_another_archive_is_refused(made: Path, tmp_path: Path) -> None:
    copy = copied(made, tmp_path)
    packed(many_files(tmp_path / "in", 302), copy, force=True)
    (tmp_path / "pack.tar.idx").write_bytes((made / "pack.tar.idx").read_bytes())
    with pytest.raises(data.StaleIndex, match="is older than the archive"):
        data.open(copy)


def test_one_of_the_same_size_too(tmp_path: Path) -> None:
    for name, files in (("a", "abcdefgh"), ("b", "abcdefgx")):
        (tmp_path / name).mkdir()
        for number, file in enumerate(files):
            (tmp_path / name / f"{file}.npy").write_bytes(bytes([number]) * 100)
        packed(tmp_path / name, tmp_path / f"{name}.tar")
    os.rename(tmp_path / "b.tar.idx", tmp_path / "a.tar.idx")
    os.utime(tmp_path / "a.tar", (0, 0))
    with pytest.raises(data.StaleIndex, match="is not where its index says"):
        data.open(tmp_path / "a.tar")


@pytest.mark.parametrize("size", [0, 4, 60, 200, 5000])
def test_an_index_that_was_cut_off(made: Path, tmp_path: Path, size: int) -> None:
    copy = copied(made, tmp_path)
    os.truncate(tmp_path / "pack.tar.idx", size)
    with pytest.raises(data.DataError) as caught:
        data.open(copy)
    assert "voy data index --force" in str(caught.value)


def test_a_flipped_byte_is_noticed_when_asked(made: Path, tmp_path: Path) -> None:
    copy = copied(made, tmp_path)
    place = Index.load(str(copy) + ".idx").place(11)
    flip(copy, place.offset + place.size // 2)
    os.utime(copy, ns=(0, (made / "pack.tar").stat().st_mtime_ns))
    data.open(copy).read(11)
    pack = data.open(copy, check=True)
    pack.read(10)
    with pytest.raises(data.BrokenPack, match="is not what was packed"):
        pack.read(11)


def flip(path: Path, at: int) -> None:
    with open(path, "r+b") as file:
        file.seek(at)
        byte = file.read(1)
        file.seek(at)
        file.write(bytes([byte[0] ^ 1]))


def test_a_hostile_index_reads_nothing_else(made: Path, tmp_path: Path) -> None:
    from voyageur.job.data.index import Archive, Builder

    copy = copied(made, tmp_path)
    status = copy.stat()
    for archive, offset in (("../../etc/passwd", 512), ("pack.tar", status.st_size - 5)):
        builder = Builder()
        builder.add(b"x", offset, 100, 0)
        archives = [Archive(archive, status.st_size, status.st_mtime_ns, "")] * (2 if "/" in archive else 1)
        (tmp_path / "pack.tar.idx").write_bytes(b"".join(builder.parts(archives)))
        with pytest.raises(data.DataError, match=r"names an archive in another folder|is not right"):
            data.open(copy).read(0)


def test_opening_a_million_members_takes_milliseconds(tmp_path: Path) -> None:
    from voyageur.job.data.index import Archive, Builder

    builder = Builder()
    for number in range(200_000):
        builder.add(b"%06d.jpg" % number, 512, 100, 0)
    with open(tmp_path / "x.tar", "wb") as file:
        file.truncate(1 << 20)
    status = (tmp_path / "x.tar").stat()
    archive = Archive("x.tar", status.st_size, status.st_mtime_ns, "")
    (tmp_path / "x.tar.idx").write_bytes(b"".join(builder.parts([archive])))
    begin = time.perf_counter()
    pack = data.open(tmp_path / "x.tar")
    assert pack.number("123456.jpg") == 123456 and len(pack) == len(pack.samples()) == 200_000
    assert time.perf_counter() - begin < 0.1


def test_old_tars_with_links_and_holes(tmp_path: Path) -> None:
    tree = tmp_path / "in"
    tree.mkdir()
    (tree / "a.txt").write_text("a")
    os.link(tree / "a.txt", tree / "hard.txt")
    os.symlink("a.txt", tree / "soft.txt")
    os.mkfifo(tree / "pipe")
    with open(tree / "holes", "wb") as file:
        file.truncate(1 << 20)
    argv = ["tar", "--sparse", "--sort=name", "-cf", "x.tar", "-C", "in", "."]
    subprocess.run(argv, cwd=tmp_path, check=True)
    pack = data.open(tmp_path / "x.tar")
    assert dict(pack.items()) == {"a.txt": b"a", "hard.txt": b"a"}
    assert pack.left_out == {"sparse files": 1, "devices and other special files": 1}


@pytest.mark.parametrize("form", ["gzip", "bzip2", "xz"])
def test_compressed_archives_are_told(made: Path, tmp_path: Path, form: str) -> None:
    with open(tmp_path / "x.tar.z", "wb") as out:
        subprocess.run([form, "-c", str(made / "pack.tar")], stdout=out, check=True)
    with pytest.raises(data.NotAPack) as caught:
        data.open(tmp_path / "x.tar.z")
    assert f"is compressed with {form}" in caught.value.what
    assert caught.value.hint == f"`voy data pack {tmp_path}/x.tar.z NEW.tar` makes a pack of it"


def test_what_is_no_dataset(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("hello\n" * 200)
    (tmp_path / "empty").touch()
    (tmp_path / "nothing").mkdir()
    for name, what in (("text", "is no tar archive"), ("empty", "is empty"), ("nothing", "holds no files")):
        with pytest.raises(data.NotAPack, match=what):
            data.open(tmp_path / name)
    (tmp_path / "cut.zip").write_bytes(b"PK\x03\x04" + bytes(100))
    with pytest.raises(data.BrokenPack, match="no whole zip"):
        data.open(tmp_path / "cut.zip")


# ── arrays and loaders ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "array",
    [np.arange(12.0).reshape(3, 4), np.asfortranarray(np.arange(6).reshape(2, 3)), np.array(7), np.zeros((0, 3))],
    ids=["plain", "fortran", "scalar", "empty"],
)
def test_numpy_arrays_without_a_copy(tmp_path: Path, array: np.ndarray) -> None:
    (tmp_path / "in").mkdir()
    np.save(tmp_path / "in" / "a.npy", array)
    np.savez(tmp_path / "in" / "b.npz", first=array)
    packed(tmp_path / "in", tmp_path / "x.tar")
    pack = data.open(tmp_path / "x.tar")
    found = pack.array("a.npy")
    assert np.array_equal(found, array) and found.dtype == array.dtype and found.shape == array.shape
    assert array.size == 0 or not found.flags.owndata
    assert np.array_equal(pack.array("b.npz")["first"], array)


def test_arrays_never_unpickle(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    np.save(tmp_path / "in" / "a.npy", np.array([{}], dtype=object), allow_pickle=True)
    (tmp_path / "in" / "b.npy").write_bytes(b"\x93NUMPY\x01\x00\xff\xff{")
    packed(tmp_path / "in", tmp_path / "x.tar")
    for name, what in (("a.npy", "holds Python objects"), ("b.npy", "is no whole numpy array")):
        with pytest.raises(data.NotAPack, match=what):
            data.open(tmp_path / "x.tar").array(name)


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> types.SimpleNamespace:
    """As much of torch as the adapters touch; the bench runs them in the real one."""
    worker = types.SimpleNamespace(info=None)
    utils = types.ModuleType("torch.utils.data")
    vars(utils).update(Dataset=object, IterableDataset=object, get_worker_info=lambda: worker.info)
    whole = types.ModuleType("torch")
    vars(whole)["distributed"] = types.SimpleNamespace(is_available=lambda: False)
    for name, module in (("torch", whole), ("torch.utils", whole), ("torch.utils.data", utils)):
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.delitem(sys.modules, "voyageur.job.data.loaders", raising=False)
    monkeypatch.delattr(data, "loaders", raising=False)
    return worker


def test_a_torch_dataset(made: Path, torch: types.SimpleNamespace) -> None:
    dataset = data.torch(made / "pack.tar", transform=lambda sample: (len(sample["jpg"]), int(sample["cls"])))
    assert len(dataset) == 150
    assert dataset[7][1] == int(data.open(made / "pack.tar").samples()[7]["cls"])


def test_ranks_and_workers_share_a_stream_out(
    made: Path, torch: types.SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen, stream = [], data.torch(made / "pack.tar", iterable=True, shuffle=True, transform=lambda s: s["__key__"])
    monkeypatch.setenv("WORLD_SIZE", "4")
    for rank in range(4):
        monkeypatch.setenv("RANK", str(rank))
        of_rank = []
        for worker in range(3):
            torch.info = types.SimpleNamespace(id=worker, num_workers=3)
            of_rank += list(stream)
        assert len(of_rank) == len(stream) == 37
        seen += of_rank
    assert len(set(seen)) == len(seen) == 148
    first = list(stream)
    stream.set_epoch(1)
    assert list(stream) != first
