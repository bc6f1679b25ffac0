"""Results on their way home: what is meant, whole archives, a manifest that always tells of what is there."""

import hashlib
import json
import os
import tarfile
from pathlib import Path
from typing import Any

import pytest

from voyageur.runtime.node_folder import sweep
from voyageur.runtime.results.bin import Bin, Damaged
from voyageur.runtime.results.find import Found, Roots, find
from voyageur.runtime.results.keeping import keep_here


class Node:
    """A node folder with a program's results in it, and a place at home."""

    def __init__(self, root: Path) -> None:
        self.tmp = root / "disk" / "voy-x"
        self.code = self.tmp / "code"
        self.code.mkdir(parents=True)
        (self.code / "train.py").write_text("frozen")
        self.unpacked = (self.code / "train.py").stat().st_ctime_ns
        self.home = root / "home"
        self.bin = Bin(str(self.home), "n1")

    def write(self, name: str, content: bytes = b"x") -> Path:
        path = self.tmp / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path

    def find(self, *patterns: str) -> list[Found]:
        return find(Roots(str(self.code), self.unpacked, str(self.tmp), str(self.tmp)), patterns)

    def save(self, *patterns: str, **more: Any) -> list[str]:
        return self.bin.save(self.find(*patterns), {"final": True}, **more).left

    def manifest(self) -> dict[str, Any]:
        return dict(json.loads((self.home / "n1.json").read_text()))

    def check(self) -> dict[str, bytes]:
        """What the manifest promises is what any tar finds."""
        found = {}
        for name, entry in self.manifest()["files"].items():
            with tarfile.open(self.home / entry["archive"]) as tar:
                member = tar.extractfile(name)
                assert member
                content = member.read()
            assert hashlib.sha256(content).hexdigest() == entry["sha256"]
            found[name] = content
        return found


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


def test_patterns_mean_what_the_program_wrote_on_the_node(node: Node) -> None:
    for name in ("code/figures/a.png", "code/loss.csv", "code/deep/loss.csv", "out.csv", "code/other", "figures/a.png"):
        node.write(name)
    node.write(".voyageur.data-0.json")
    node.write("mnt-0/x/image.csv")
    (node.code / "link.csv").symlink_to("/etc/passwd")
    found = {one.name for one in node.find("figures/", "*.csv", "*.py", "*.json")}
    assert found == {"figures/a.png", "loss.csv", "deep/loss.csv", "out.csv", "tmp/figures/a.png"}
    assert {one.name for one in node.find("/loss.csv")} == {"loss.csv"}


def test_only_what_is_new_is_written_and_there_are_never_many_files(node: Node) -> None:
    for round_ in range(12):
        node.write("code/log.csv", b"line\n" * round_)
        node.write(f"code/{round_}.csv", b"%d" % round_)
        node.save("*.csv")
        assert len(os.listdir(node.home)) <= 6
    found = node.check()
    assert found == {"log.csv": b"line\n" * 11, **{f"{n}.csv": b"%d" % n for n in range(12)}}
    before = sorted(os.listdir(node.home))
    node.save("*.csv")
    assert sorted(os.listdir(node.home)) == before


def test_what_the_program_removed_later_stays_at_home(node: Node) -> None:
    node.write("code/epoch1.csv", b"1")
    node.save("*.csv")
    (node.code / "epoch1.csv").unlink()
    node.write("code/epoch2.csv", b"2")
    node.save("*.csv")
    assert node.check() == {"epoch1.csv": b"1", "epoch2.csv": b"2"}


def test_nodes_do_not_clobber_each_other(node: Node) -> None:
    node.write("code/a.csv", b"n1")
    node.save("*.csv")
    node.write("code/a.csv", b"other")
    Bin(str(node.home), "n1-2").save(node.find("*.csv"), {})
    assert node.check() == {"a.csv": b"n1"}
    assert Bin(str(node.home), "n1").files()["a.csv"]["archive"] == "n1-1.tar"


def test_a_save_that_fails_leaves_what_was_there(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    node.write("code/a.csv", b"first")
    node.save("*.csv")
    before = {name: (node.home / name).read_bytes() for name in os.listdir(node.home)}
    node.write("code/a.csv", b"second")
    for harm in ("os.fsync", "os.rename", "voyageur.runtime.results.bin.digest_at"):
        with monkeypatch.context() as patch:
            patch.setattr(harm, lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
            with pytest.raises(OSError, match="No space"):
                node.save("*.csv")
        assert {name: (node.home / name).read_bytes() for name in os.listdir(node.home)} == before


def test_what_is_read_back_wrong_is_not_believed(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    node.write("code/a.csv", b"first")
    monkeypatch.setattr("voyageur.runtime.results.bin.digest_at", lambda *_: "0" * 64)
    with pytest.raises(Damaged):
        node.save("*.csv")
    assert os.listdir(node.home) == []


def test_remains_of_a_killed_save_go(node: Node) -> None:
    node.home.mkdir()
    (node.home / ".n1-7.tar.4242").write_bytes(b"half")
    (node.home / ".n10-7.tar.4242").write_bytes(b"another node's")
    node.write("code/a.csv")
    node.save("*.csv")
    assert sorted(os.listdir(node.home)) == [".n10-7.tar.4242", "n1-1.tar", "n1.json"]


def test_when_time_is_short_small_files_come_first_and_the_rest_is_named(node: Node) -> None:
    node.write("code/small.csv", b"1")
    node.write("code/big.csv", b"1" * 1000)
    left = node.save("*.csv", deadline=0.0)
    assert left == ["small.csv: no time was left", "big.csv: no time was left"]
    assert node.manifest()["left"] == left and node.manifest()["files"] == {}
    assert node.save("*.csv") == [] and len(node.check()) == 2


def test_strange_names_survive(node: Node) -> None:
    for name in ("code/é🙂.csv", "code/\udcff.csv", "code/" + "long/" * 60 + "x.csv", "code/line\nbreak.csv"):
        node.write(name, name.encode("utf-8", "surrogateescape"))
    node.save("*.csv")
    assert len(node.check()) == 4


def test_what_finds_no_room_at_home_stays_on_the_node(node: Node, tmp_path: Path) -> None:
    node.write("code/sub/a.csv", b"kept")
    around = {"VOY_TOKEN": "0123456789ab", "VOY_ATTEMPT": "1", "VOY_TMP": str(node.tmp)}
    path = Path(keep_here(node.find("*.csv"), around, "n1"))
    assert (path / "sub" / "a.csv").read_bytes() == b"kept"
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert sweep(str(tmp_path / "disk"), settled=0) == 0
    os.utime(path.parent / ".voyageur.kept", (0, 0))
    assert sweep(str(tmp_path / "disk"), settled=0) == 1 and not path.exists()
