"""A pack that is on its way: whatever has arrived or not, the same bytes; and after that, only those of the node."""

import json
import multiprocessing
import os
from pathlib import Path
from typing import Any

import pytest

from tests.runtime.datasets import around, flip_byte, make_pack
from voyageur.job import data
from voyageur.job.data.index import CHUNK
from voyageur.runtime.staging.cargo import load_cargo
from voyageur.runtime.staging.carry import Above, Carrier, Damaged
from voyageur.runtime.staging.hold import Hold, hold_for
from voyageur.runtime.staging.look import look
from voyageur.runtime.staging.wanted import Wanted

ALONE = Above(None, b"", 0)


class Arriving:
    """A pack, the place on the node it comes to, and a program's view of it."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (root / "disk").mkdir()
        self.pack = make_pack(root / "images.tar")
        self.raw = [path.read_bytes() for path in sorted(self.pack.with_suffix(".raw").iterdir())]
        self.hold: Hold = hold_for(Wanted("images", str(self.pack), "index"), around(root / "disk", root / "run"), "n1")
        entry = {"path": f"{self.hold.whole}/images.tar", "source": "arriving", "hold": self.hold.path}
        entry.update(shared=str(root), index=f"{self.pack}.idx", **{"from": str(self.pack)})
        (root / "data.json").write_text(json.dumps({"version": 1, "data": {"images": entry}}))
        monkeypatch.setenv("VOY_DATA", str(root / "data.json"))

    def carrier(self) -> Carrier:
        return Carrier("images", self.hold.begin(load_cargo(look(str(self.pack)))), ALONE)

    def spoil_shared(self) -> None:
        """What is read from now on from shared storage is wrong; the time stays."""
        times = self.pack.stat()
        self.pack.write_bytes(bytes(self.pack.stat().st_size))
        os.utime(self.pack, ns=(times.st_atime_ns, times.st_mtime_ns))


@pytest.fixture
def arriving(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Arriving:
    return Arriving(tmp_path, monkeypatch)


def test_before_anything_arrives_all_is_read_through(arriving: Arriving) -> None:
    pack = data.open("images")
    assert [pack[number] for number in range(40)] == arriving.raw
    assert bytes(pack.view(3)) == arriving.raw[3] and pack["0007.bin"] == arriving.raw[7]


def test_what_has_arrived_is_read_here_and_the_rest_there(arriving: Arriving, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("voyageur.job.data.arriving._LOOK_EVERY", 0.0)
    pack = data.open("images")
    carrier = arriving.carrier()
    carrier._bring(1)
    arriving.spoil_shared()
    inside = [n for n in range(40) if 501_248 * n + 512 > CHUNK and 501_248 * n + 512 + 500_000 < 2 * CHUNK]
    assert len(inside) > 10
    for number in range(40):
        assert (pack[number] == arriving.raw[number]) == (number in inside), number


def test_an_open_pack_and_a_new_one_read_only_here_once_all_is_here(arriving: Arriving) -> None:
    before = data.open("images")
    carrier = arriving.carrier()
    between = data.open("images")
    carrier.run()
    carrier.arrival.finish()
    arriving.spoil_shared()
    os.unlink(arriving.pack)
    after = data.open("images")
    for pack in (between, after, data.open(str(arriving.pack))):
        assert [pack[number] for number in range(40)] == arriving.raw
    before._sources[0]._look_at = 0.0  # type: ignore[attr-defined] # it looks now and then
    assert [before[number] for number in range(40)] == arriving.raw


def read_all(queue: "multiprocessing.Queue[int]", pack: data.Pack, go: "multiprocessing.synchronize.Event") -> None:
    queue.put(len(pack[0]))
    go.wait(30)
    queue.put(sum(sum(pack[number][:100]) for number in range(40)))


@pytest.mark.parametrize("how", ["fork", "spawn"])
def test_workers_see_what_arrives(arriving: Arriving, how: str) -> None:
    context: Any = multiprocessing.get_context(how)
    carrier = arriving.carrier()
    queue, go = context.Queue(), context.Event()
    worker = context.Process(target=read_all, args=(queue, data.open("images"), go))
    worker.start()
    assert queue.get(timeout=30) == 500_000
    carrier.run()
    carrier.arrival.finish()
    arriving.spoil_shared()
    go.set()
    assert queue.get(timeout=30) == sum(sum(raw[:100]) for raw in arriving.raw)
    worker.join(30)


def test_a_damaged_part_is_never_handed_out_once_it_is_known(arriving: Arriving) -> None:
    flip_byte(arriving.pack, CHUNK + 600_000)
    carrier = arriving.carrier()
    with pytest.raises(Damaged):
        carrier.run()
    pack = data.open("images")
    assert pack[0] == arriving.raw[0]
    number = (CHUNK + 600_000) // 501_248
    with pytest.raises(data.BrokenPack, match=r"images.tar is damaged"):
        pack[number]


def test_a_source_that_is_gone_or_cut_says_so(arriving: Arriving) -> None:
    pack = data.open("images")
    os.truncate(arriving.pack, 1 << 20)
    with pytest.raises(data.BrokenPack, match="was cut off while it was read"):
        pack[39]
    os.unlink(arriving.pack)
    with pytest.raises(data.NoSuchData):
        data.open("images")
