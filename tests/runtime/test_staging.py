"""A dataset's way onto a node: cut into chunks, verified, whole or not there, taken up again where it was."""

import contextlib
import json
import os
import socket
import threading
from pathlib import Path

import pytest

from tests.runtime.datasets import around, flip_byte, make_pack
from voyageur.job.data.index import CHUNK
from voyageur.runtime.node_folder import sweep
from voyageur.runtime.staging.arrive import Failed, NoRoom, Stage
from voyageur.runtime.staging.cargo import Changed, load_cargo
from voyageur.runtime.staging.carry import Above, Carrier, Damaged
from voyageur.runtime.staging.hold import HERE, Arrival, Hold, hold_for
from voyageur.runtime.staging.look import NotThere, look
from voyageur.runtime.staging.network import Line, Server, Switchboard, above, find_above
from voyageur.runtime.staging.room import lacking
from voyageur.runtime.staging.wanted import Wanted, in_words, read_wanted, unpacked_name

ALONE = Above(None, b"", 0)
SECRET = b"s" * 32


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    (tmp_path / "disk").mkdir()
    return tmp_path / "disk"


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    (tmp_path / "shared").mkdir()
    return make_pack(tmp_path / "shared" / "images.tar")


@pytest.fixture
def environment(disk: Path, tmp_path: Path) -> dict[str, str]:
    return around(disk, tmp_path / "run")


def stage(one: Wanted, environment: dict[str, str], whom: Above = ALONE) -> tuple[Hold, Stage]:
    hold = hold_for(one, environment, "n1")
    made = Stage(one, hold, whom, lambda name, arrival: None, lambda *_: None)
    made.run()
    return hold, made


# ── what it is ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_what_a_dataset_is(pack: Path, tmp_path: Path) -> None:
    found = look(str(pack))
    assert (found.kind, found.members, found.size) == ("pack", 40, pack.stat().st_size) and found.digest
    (tmp_path / "f").mkdir()
    (tmp_path / "f" / "a").write_text("12345")
    assert look(f"{tmp_path}/f/")[1:4] == ("folder", 5, 1)
    assert look(str(pack) + ".idx").kind == "file"
    os.mkfifo(tmp_path / "pipe")
    for gone in ("nothing", "pipe"):
        with pytest.raises(NotThere):
            look(str(tmp_path / gone))


def test_chunks_hold_all_bytes_once(pack: Path, tmp_path: Path) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    sizes = [0, 1, 700_000, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK] + [100_000] * 100
    for number, size in enumerate(sizes):
        (folder / f"{number:03}").write_bytes(bytes([number % 251]) * size)
    cargo = load_cargo(look(str(folder)))
    taken: dict[int, int] = {}
    for chunk in cargo.chunks:
        assert 0 < sum(piece.size for piece in chunk) <= CHUNK
        for piece in chunk:
            assert taken.get(piece.item, 0) == piece.offset
            taken[piece.item] = piece.offset + piece.size
    assert taken == {number: item.size for number, item in enumerate(cargo.items) if item.size}
    assert len(cargo.chunks) < 20


def test_wishes_survive_the_script() -> None:
    wanted = [Wanted("a", "/s/é b/\udcff", "copy", "x/y"), Wanted("b", "/s/b", "none")]
    assert read_wanted({"VOY_STAGE": in_words(wanted)}) == wanted and read_wanted({}) == []
    assert [unpacked_name(name) for name in ("/x/a.tar.gz", "b.ZIP", ".tar")] == ["a", "b", ".tar.unpacked"]


# ── arriving ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_pack_arrives_with_its_index_and_its_time(pack: Path, environment: dict[str, str]) -> None:
    hold, made = stage(Wanted("images", str(pack), "copy"), environment)
    copy = Path(hold.whole) / "images.tar"
    assert copy.read_bytes() == pack.read_bytes()
    assert copy.stat().st_mtime_ns == pack.stat().st_mtime_ns
    assert Path(f"{copy}.idx").read_bytes() == Path(f"{pack}.idx").read_bytes()
    assert made.shared_bytes == made.size == pack.stat().st_size + Path(f"{pack}.idx").stat().st_size
    assert Path(hold.path).stat().st_mode & 0o777 == 0o700


def test_a_folder_arrives_as_it_is(tmp_path: Path, environment: dict[str, str]) -> None:
    folder = tmp_path / "labels"
    (folder / "sub" / "empty").mkdir(parents=True)
    (folder / "sub" / "run").write_text("x")
    (folder / "sub" / "run").chmod(0o750)
    (folder / "\udcfe").write_text("odd")
    (folder / "l").symlink_to("sub/run")
    hold, _ = stage(Wanted("labels", f"{folder}/", "unpack"), environment)
    copy = Path(hold.whole) / "labels"
    assert (copy / "l").read_text() == "x" and (copy / "l").is_symlink()
    assert os.access(copy / "sub" / "run", os.X_OK) and (copy / "sub" / "empty").is_dir()
    assert (copy / "\udcfe").read_text() == "odd"


def test_what_was_killed_goes_on_where_it_was(pack: Path, environment: dict[str, str]) -> None:
    one = Wanted("images", str(pack), "index")
    hold = hold_for(one, environment, "n1")
    cargo = load_cargo(look(str(pack)))
    first = hold.begin(cargo)
    Carrier("images", first, ALONE)._bring(1)
    again = Carrier("images", hold.begin(cargo), ALONE)
    assert 1 not in again.arrival.missing()
    again.run()
    assert again.shared_bytes == cargo.size - cargo.chunk_size(1)
    assert not hold.is_whole()
    again.arrival.finish()
    assert hold.is_whole() and (Path(hold.whole) / "images.tar").read_bytes() == pack.read_bytes()


def test_another_archive_of_that_name_begins_anew(pack: Path, environment: dict[str, str], tmp_path: Path) -> None:
    one = Wanted("images", str(pack), "index")
    hold = hold_for(one, environment, "n1")
    Carrier("images", hold.begin(load_cargo(look(str(pack)))), ALONE)._bring(0)
    other = make_pack(tmp_path / "other.tar", seed=2)
    assert len(hold.begin(load_cargo(look(str(other)))).missing()) == 4
    assert hold_for(Wanted("images", str(other), "index"), environment, "n1").path != hold.path


def test_a_flipped_byte_is_found_and_named(pack: Path, environment: dict[str, str]) -> None:
    flip_byte(pack, CHUNK + 17)
    hold = hold_for(Wanted("images", str(pack), "copy"), environment, "n1")
    with pytest.raises(Damaged, match=r"images.tar from byte 8388608 to 16777216"):
        stage(Wanted("images", str(pack), "copy"), environment)
    assert not hold.is_whole()
    assert Path(hold.arrived_file).read_bytes()[:3] == bytes([HERE, 2, HERE])


def test_a_file_that_changes_or_goes_is_an_error(pack: Path, environment: dict[str, str]) -> None:
    hold = hold_for(Wanted("images", str(pack), "copy"), environment, "n1")
    arrival = hold.begin(load_cargo(look(str(pack))))
    with open(pack, "ab") as file:
        file.write(b"more")
    with pytest.raises(Changed, match="was changed"):
        Carrier("images", arrival, ALONE).run()
    pack.unlink()
    with pytest.raises(Changed, match="cannot be read: No such file"):
        Carrier("images", arrival, ALONE).run()


def test_a_pack_that_was_cut_off_is_found_before_anything_is_copied(pack: Path, environment: dict[str, str]) -> None:
    os.truncate(pack, pack.stat().st_size - 1)
    with pytest.raises(Changed, match="its index was made for"):
        stage(Wanted("images", str(pack), "copy"), environment)


def test_unpacking(pack: Path, environment: dict[str, str]) -> None:
    hold, _ = stage(Wanted("images", str(pack), "unpack"), environment)
    assert len(list((Path(hold.whole) / "images").iterdir())) == 40
    raw = pack.with_suffix(".raw")
    assert (Path(hold.whole) / "images" / "0039.bin").read_bytes() == (raw / "0039.bin").read_bytes()


def test_what_cannot_be_unpacked_is_not_half_there(tmp_path: Path, environment: dict[str, str]) -> None:
    from tests.runtime.test_extract import link, plain, tar_of

    evil = tar_of(tmp_path / "evil.tar", plain("a", b"x" * 5000), link("l", "/etc"))
    hold = hold_for(Wanted("evil", evil, "unpack"), environment, "n1")
    with pytest.raises(Exception, match="not safe to unpack"):
        stage(Wanted("evil", evil, "unpack"), environment)
    assert not hold.is_whole() and not (Path(hold.path) / "unpacked").exists()


# ── room ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_room_in_bytes_and_in_files(tmp_path: Path) -> None:
    assert lacking(str(tmp_path), 1000, 1) is None
    assert "are needed and" in str(lacking(str(tmp_path), 1 << 60, 1))
    if os.statvfs(tmp_path).f_files:
        assert "files are needed" in str(lacking(str(tmp_path), 1, 1 << 60))


def test_what_does_not_fit_is_read_from_shared_storage_or_refused(
    pack: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("voyageur.runtime.staging.arrive.lacking", lambda *_: "2G are needed and 1G are free")
    with pytest.raises(NoRoom, match="2G are needed"):
        stage(Wanted("images", str(pack), "copy"), environment)
    with pytest.raises(Failed, match="does not fit on this node's disk: 2G"):
        stage(Wanted("images", str(pack), "unpack"), environment)


def test_a_disk_that_fills_up_meanwhile_is_cleared(
    pack: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Arrival, "put", full)
    for how, error in (("copy", NoRoom), ("index", NoRoom), ("unpack", Failed)):
        with pytest.raises(error, match="No space left on device"):
            stage(Wanted("images", str(pack), how), environment)
        hold = hold_for(Wanted("images", str(pack), how), environment, "n1")
        assert not hold.is_whole() and not Path(hold.partial).exists()


# ── leaving ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_it_stays_for_a_run_that_comes_back_and_goes_with_the_run(
    pack: Path, environment: dict[str, str], disk: Path
) -> None:
    one = Wanted("images", str(pack), "copy")
    hold, _ = stage(one, environment)
    hold.leave(comes_back=True)
    sweep(str(disk), settled=0)
    hold = hold_for(one, environment, "n1")
    assert hold.is_whole()
    (Path(environment["VOY_RUN_DIR"]) / "done.json").write_text("{}")
    hold.leave(comes_back=False)
    assert list(disk.iterdir()) == []


def test_a_killed_runs_dataset_is_swept_when_the_run_has_ended(
    pack: Path, environment: dict[str, str], disk: Path
) -> None:
    hold, _ = stage(Wanted("images", str(pack), "copy"), environment)
    os.close(hold._folder._lock)
    assert sweep(str(disk), settled=0) == 0
    (Path(environment["VOY_RUN_DIR"]) / "done.json").write_text("{}")
    assert sweep(str(disk), settled=0) == 1 and list(disk.iterdir()) == []


def test_two_runs_share_what_is_the_same(pack: Path, environment: dict[str, str], disk: Path, tmp_path: Path) -> None:
    one = Wanted("images", str(pack), "copy")
    mine, _ = stage(one, environment)
    other = around(disk, tmp_path / "run2", VOY_TOKEN="ba9876543210")
    theirs = hold_for(one, other, "n1")
    assert theirs.is_whole()
    mine.leave(comes_back=False)
    assert theirs.is_whole()
    theirs.leave(comes_back=False)
    assert list(disk.iterdir()) == []


@pytest.mark.parametrize("planted", ["link", "open folder", "file"])
def test_a_folder_that_somebody_planted_is_refused(
    pack: Path, environment: dict[str, str], disk: Path, tmp_path: Path, planted: str
) -> None:
    one = Wanted("images", str(pack), "copy")
    hold = hold_for(one, environment, "n1")
    hold.leave(comes_back=False)
    victim = tmp_path / "victim"
    victim.mkdir(mode=0o700)
    if planted == "link":
        Path(hold.path).symlink_to(victim)
    elif planted == "file":
        Path(hold.path).write_text("x")
    else:
        Path(hold.path).mkdir(mode=0o777)
        Path(hold.path).chmod(0o777)
    with pytest.raises(Exception, match="somebody else made it"):
        hold_for(one, environment, "n1")
    assert list(victim.iterdir()) == []


# ── between nodes ────────────────────────────────────────────────────────────────────────────────────────────────────


class Node:
    """One that has a dataset and hands it on."""

    def __init__(self, arrival: Arrival) -> None:
        self.arrival = arrival
        self.answered = 0
        self.server = Server(SECRET, self.answer)

    def answer(self, question: dict[str, object], _: str) -> bytes:
        self.answered += 1
        if question["want"] == "cargo":
            return json.dumps(self.arrival.cargo.as_json()).encode()
        number = question.get("number")
        return self.arrival.content(number) if isinstance(number, int) and self.arrival.wait(number, 5) else b""


def test_the_node_below_reads_nothing_from_shared_storage(
    pack: Path, environment: dict[str, str], disk: Path, tmp_path: Path
) -> None:
    one = Wanted("images", str(pack), "copy")
    hold = hold_for(one, environment, "n0")
    arrival = hold.begin(load_cargo(look(str(pack))))
    upper = Node(arrival)
    bringing = threading.Thread(target=Carrier("images", arrival, ALONE).run)
    bringing.start()
    below, made = stage(one, environment, Above(("127.0.0.1", upper.server.port), SECRET, 1))
    bringing.join()
    assert made.shared_bytes == 0 and made.other_bytes == made.size
    assert (Path(below.whole) / "images.tar").read_bytes() == pack.read_bytes()


def test_a_node_above_that_hands_on_rubbish_or_dies_costs_time_only(pack: Path, environment: dict[str, str]) -> None:
    one = Wanted("images", str(pack), "copy")
    hold = hold_for(one, environment, "n0")
    arrival = hold.begin(load_cargo(look(str(pack))))
    Carrier("images", arrival, ALONE).run()
    flip_byte(Path(hold.partial) / "images.tar", 5)
    upper = Node(arrival)
    below, made = stage(one, environment, Above(("127.0.0.1", upper.server.port), SECRET, 1))
    assert made.shared_bytes == CHUNK
    below.leave(comes_back=False)
    upper.server.close()
    below, made = stage(one, environment, Above(("127.0.0.1", 1), SECRET, 1))
    assert made.other_bytes == 0 and (Path(below.whole) / "images.tar").read_bytes() == pack.read_bytes()


def test_only_who_knows_the_secret_gets_an_answer() -> None:
    server = Server(SECRET, lambda question, peer: b"yours")
    line = Line.to(("127.0.0.1", server.port), SECRET)
    assert line.ask(want="x") == b"yours"
    with pytest.raises(OSError, match=r"another job's|gone"):
        Line.to(("127.0.0.1", server.port), b"guess" * 6)
    said = b""
    with contextlib.suppress(ConnectionResetError), socket.create_connection(("127.0.0.1", server.port), 5) as raw:
        raw.sendall(b"GET / HTTP/1.0\r\n\r\n" + bytes(200))
        while block := raw.recv(100):
            said += block
    assert b"yours" not in said


def test_the_tree_is_known_to_the_switchboard() -> None:
    assert [above(node) for node in (1, 2, 3, 4, 5, 6)] == [0, 0, 1, 1, 2, 2]
    switchboard = Switchboard(SECRET, patience=0.2)
    address = ("127.0.0.1", switchboard.server.port)
    assert find_above(address, SECRET, 3, 1003) is None  # node 1 has not said anything yet
    assert find_above(address, SECRET, 0, 1000) is None
    assert find_above(address, SECRET, 1, 1001) == ("127.0.0.1", 1000)
    assert find_above(address, SECRET, 3, 1003) == ("127.0.0.1", 1001)
    assert find_above(("127.0.0.1", 1), SECRET, 3, 1003) is None
