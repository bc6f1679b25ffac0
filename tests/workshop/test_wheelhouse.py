"""A site with its own wheels: nothing else is looked at, what it lacks is named, and other versions only when asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.env.wheels import make_wheel
from tests.workshop.bench import WorkBench
from voyageur.env.pinned import Pinned
from voyageur.errors import SpecError
from voyageur.workshop.locking import Change, Locked


def stocked(bench: WorkBench) -> None:
    house = bench.root.parent / "wheelhouse"
    for name, version in (("numpy", "1.26.4+computecanada"), ("numpy", "1.25.2+computecanada"), ("six", "1.16.0")):
        make_wheel(house, name, version)
    make_wheel(house, "frame", "2.0+computecanada", requires=["numpy>=1.20"])
    elsewhere = bench.root.parent / "elsewhere"
    make_wheel(elsewhere, "einops", "0.8.0", requires=["six"])
    make_wheel(elsewhere, "needy", requires=["einops"])
    make_wheel(elsewhere, "compiled", tag="cp311-cp311-manylinux_2_17_x86_64")
    index = bench.root.parent / "index"
    for wheel in elsewhere.iterdir():
        folder = index / wheel.name.split("-")[0]
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "index.html").write_text(f'<a href="{wheel.as_uri()}">{wheel.name}</a>\n')
    bench.environment["PIP_FIND_LINKS"] = str(house)
    bench.environment["PIP_INDEX_URL"] = index.as_uri()


def lock(bench: WorkBench, *lines: str, **more: object) -> Locked:
    bench.write("requirements.txt", *lines)
    return bench.lock(title="narval", site="narval", wheelhouse=True, **more)


def packages(locked: Locked) -> list[str]:
    return [str(one) for one in locked.lock.packages]


def test_its_own_versions_are_taken(bench: WorkBench) -> None:
    stocked(bench)
    locked = lock(bench, "frame", "numpy==1.26.4")
    assert packages(locked) == ["frame==2.0+computecanada", "numpy==1.26.4+computecanada"]
    assert locked.changes == ()
    assert bench.make(locked).packages == tuple(packages(locked))


def test_what_it_lacks_is_said_with_the_nearest(bench: WorkBench) -> None:
    stocked(bench)
    with pytest.raises(SpecError) as error:
        lock(bench, "frame", "numpy==1.23.4", "einops")
    assert error.value.what == "the wheelhouse of narval lacks 2 of the packages that are wanted"
    assert error.value.facts == ("einops: it has none", "numpy==1.23.4: it has 1.25.2+computecanada")


def test_other_versions_are_taken_only_when_somebody_says_so(bench: WorkBench) -> None:
    stocked(bench)
    locked = lock(bench, "frame", "numpy==1.23.4", relax=True)
    assert packages(locked) == ["frame==2.0+computecanada", "numpy==1.26.4+computecanada"]
    assert locked.changes == (Change(name="numpy", was="1.23.4", now="1.26.4+computecanada"),)


def test_a_lock_from_elsewhere_holds_until_it_is_relaxed(quick: WorkBench) -> None:
    stocked(quick)
    pins = (Pinned(name="frame", version="2.0"), Pinned(name="numpy", version="2.1.0"))
    with pytest.raises(SpecError) as error:
        lock(quick, "frame", pins=pins)
    assert error.value.facts == ("numpy==2.1.0: it has 1.26.4+computecanada",)
    locked = lock(quick, "frame", pins=pins, relax=True)
    assert [change.name for change in locked.changes] == ["numpy"]
    kept = (Pinned(name="frame", version="2.0"), Pinned(name="numpy", version="1.25.2"))
    assert packages(lock(quick, "frame", pins=kept))[1] == "numpy==1.25.2+computecanada"


def test_gaps_are_filled_with_what_any_machine_can_use(bench: WorkBench) -> None:
    stocked(bench)
    locked = lock(bench, "needy", "numpy", download=True)
    assert packages(locked) == ["einops==0.8.0", "needy==1.0", "numpy==1.26.4+computecanada", "six==1.16.0"]
    assert {path.name for path in bench.wheels.iterdir()} == {
        "einops-0.8.0-py3-none-any.whl",
        "needy-1.0-py3-none-any.whl",
    }
    origins = {one.name: one.origin for one in locked.lock.packages}
    assert origins["einops"] == "wheels/einops-0.8.0-py3-none-any.whl"
    assert Path(origins["six"]).is_absolute()
    assert len(bench.make(locked).packages) == 4


def test_what_is_compiled_elsewhere_is_not_taken_there(quick: WorkBench) -> None:
    stocked(quick)
    with pytest.raises(SpecError) as error:
        lock(quick, "compiled", download=True)
    assert error.value.what == "compiled==1.0 is not pure Python, so a wheel from elsewhere is not taken to narval"


def test_a_folder_of_the_project_is_looked_into_as_well(quick: WorkBench) -> None:
    stocked(quick)
    make_wheel(quick.wheels, "mine", "0.1")
    assert packages(lock(quick, "mine", wheels="wheels")) == ["mine==0.1"]
