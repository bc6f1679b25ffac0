"""The blocks of a tar: GNU tar and Python read ours, we read theirs, and what is no tar is told."""

from __future__ import annotations

import contextlib
import io
import subprocess
import tarfile
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from voyageur.job.data import BrokenPack, DataError, tar

parts = st.binary(min_size=1, max_size=120).filter(lambda part: not {0, 47} & set(part) and part not in (b".", b".."))
names = st.lists(parts, min_size=1, max_size=4).map(b"/".join)


def archive(*members: tuple[bytes, bytes]) -> bytes:
    body = b"".join(tar.header(name, len(data)) + data + tar.padding(len(data)) for name, data in members)
    return body + tar.end_of_archive(len(body))


@settings(max_examples=150, deadline=None)
@given(names, st.binary(max_size=1500))
@example(b"a" * 100, b"")
@example(b"a" * 101, b"x")
@example(b"d" * 155 + b"/" + b"f" * 100, b"x")
@example(b"d" * 156 + b"/" + b"f" * 100, b"x")
@example(b"\x1f\x8b", b"")
@example(b"\xff" * 300, b"x" * 512)
def test_python_and_we_read_any_name(name: bytes, data: bytes) -> None:
    whole = archive((name, data), (b"after", b"z"))
    assert [(m.name, whole[m.offset : m.offset + m.size]) for m in tar.Scan(whole, "x")] == [
        (name, data),
        (b"after", b"z"),
    ]
    with tarfile.open(fileobj=io.BytesIO(whole)) as read:
        first, second = read.getmembers()
        assert (first.name.encode("utf-8", "surrogateescape"), first.size, second.name) == (name, len(data), "after")
    assert len(whole) % tar.RECORD == 0


@pytest.mark.parametrize("form", ["gnu", "pax", "ustar", "v7", "oldgnu"])
def test_we_read_what_gnu_tar_writes(tmp_path: Path, form: str) -> None:
    deep = tmp_path / "in" if form == "v7" else tmp_path / "in" / ("d" * 60) / ("e" * 60)
    deep.mkdir(parents=True)
    names = ["short", "b" * (90 if form in ("ustar", "v7") else 200)]
    for name in names:
        (deep / name).write_text(name)
    subprocess.run(["tar", "-cf", "x.tar", f"--format={form}", "-C", "in", "."], cwd=tmp_path, check=True)
    whole = (tmp_path / "x.tar").read_bytes()
    files = {m.name: whole[m.offset : m.offset + m.size] for m in tar.Scan(whole, "x") if m.kind == tar.FILE}
    assert {name.rsplit(b"/", 1)[-1] for name in files} == {name.encode() for name in names} == set(files.values())


def test_sizes_that_do_not_fit_into_twelve_digits() -> None:
    large = 9 << 30
    for head in (tar.header(b"large", large), gnu_header(large)):
        with pytest.raises(BrokenPack, match="broken") as caught:
            list(tar.Scan(head + bytes(1024), "x"))
        assert str(large) in caught.value.facts[0] or str(large + len(head)) in caught.value.facts[0]


def gnu_header(size: int) -> bytes:
    info = tarfile.TarInfo("large")
    info.size = size
    return info.tobuf(tarfile.GNU_FORMAT)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_whatever_is_broken_ends_in_an_error_of_ours(data: st.DataObject) -> None:
    whole = bytearray(archive((b"a", b"1" * 600), (b"b" * 130, b"2")))
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(whole[: data.draw(st.integers(0, len(whole)))])
    with contextlib.suppress(DataError):
        for member in tar.Scan(cut, "x"):
            assert member.offset + member.size <= len(cut)


@pytest.mark.parametrize("length", [1, 511, 700, 1536])
def test_an_archive_that_was_cut_off_is_broken(length: int) -> None:
    whole = archive((b"a", b"1" * 600))
    with pytest.raises(DataError):
        list(tar.Scan(whole[:length], "x"))


def test_an_archive_without_its_end_was_cut_off() -> None:
    with pytest.raises(BrokenPack) as caught:
        list(tar.Scan(archive((b"a", b"1" * 600))[:1536], "x"))
    assert "without an end mark" in caught.value.facts[0]
