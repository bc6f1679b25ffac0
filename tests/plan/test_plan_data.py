"""How each dataset comes to the nodes, and why."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.plan.wishes import CLUSTER, CODE
from voyageur.errors import VoyageurError
from voyageur.plan import Identity, Plan, Seen, Surroundings, document, make_plan
from voyageur.site import Site
from voyageur.site.facts import LocalDisk, Medium
from voyageur.spec import Given, read_spec
from voyageur.units import Size

pytest_plugins = ["tests.golden"]
Golden = Callable[[str, str], None]

G = Size.parse("1G").bytes


def seen(kind: str, size: int = G, unpacked: int | None = None) -> Seen:
    return Seen(kind=kind, size=Size(size), members=3, unpacked=Size(unpacked or size), has_checksums=True)


def planned(data: dict[str, Any], found: dict[str, Seen], command: str = "python x.py", site: Site = CLUSTER) -> Plan:
    flags = {"command": Given(command, "the command line"), "data": Given(data, "voyageur.toml:3")}
    spec = read_spec(folder=Path("/projects/weather"), flags=flags, environment={})
    around = Surroundings(scratch="/scratch", datasets=found)
    return make_plan(spec, site, around, Identity(slug="train", token="0123456789ab"), CODE)


@pytest.mark.parametrize(
    ("kind", "command", "stage"),
    [
        ("pack", "python x.py", "index"),
        ("pack", "python x.py {data.a}", "copy"),
        ("tar", "python x.py", "copy"),
        ("compressed tar", "python x.py", "unpack"),
        ("zip", "python x.py", "copy"),
        ("squashfs image", "python x.py", "mount"),
        ("folder", "python x.py {data.a}", "copy"),
        ("file", "python x.py", "copy"),
    ],
)
def test_by_what_it_is_and_what_the_command_does(kind: str, command: str, stage: str) -> None:
    (cargo,) = planned({"a": "sets/a"}, {"a": seen(kind)}, command).data
    assert cargo.stage.value == stage and cargo.stage.because
    assert cargo.source == "/scratch/weather/sets/a" and cargo.what.startswith(f"{kind}, 1G")


def test_what_is_asked_for_is_done() -> None:
    data = {name: {"from": "/x/a.tar", "stage": name} for name in ("index", "copy", "unpack", "none")}
    made = planned(data, {name: seen("pack") for name in data}, "python x.py {data.index}")
    assert [cargo.stage.value for cargo in made.data] == list(data)
    assert "reads shared storage" in made.data[0].stage.because
    assert document(made)["data"]["copy"]["stage"]["because"] == "asked for by voyageur.toml:3"


def test_a_cluster_that_is_not_seen_is_judged_by_the_name() -> None:
    stages = {cargo.name: (cargo.stage.value, cargo.what) for cargo in planned(
        {"a": "a.tar", "b": "b.tar.gz", "c": "c"}, {}
    ).data}  # fmt: skip
    assert {name: stage for name, (stage, _) in stages.items()} == {"a": "index", "b": "unpack", "c": "copy"}
    assert {what for _, what in stages.values()} == {"not looked at from here"}


def with_disk(size: str, medium: Medium = Medium.DISK) -> Site:
    return replace(CLUSTER, local_disk=LocalDisk(size=Size.parse(size), medium=medium))


def test_what_does_not_fit_stays_and_a_note_says_so() -> None:
    data = {"a": "a", "b": "b", "c": "c"}
    made = planned(
        data, {"a": seen("file", 2 * G), "b": seen("file", 3 * G), "c": seen("file", G)}, site=with_disk("4G")
    )
    assert [cargo.stage.value for cargo in made.data] == ["copy", "none", "copy"]
    assert any("b does not fit on the nodes" in note and "a node has 4G" in note for note in made.notes)


def test_memory_counts_as_the_jobs_memory() -> None:
    site = with_disk("400G", Medium.MEMORY)
    (note,) = planned({"a": "a"}, {"a": seen("file", G)}, site=site).notes
    assert "folder is memory on slurm: a takes 1G of the job's memory" in note
    (cargo,) = planned({"a": "a"}, {"a": seen("file", 100 * G)}, site=site).data
    assert cargo.stage.value == "none" and "of which the job has" in cargo.stage.because


ERRORS: dict[str, tuple[dict[str, Any], dict[str, Seen], str]] = {
    "data-wrong-name": ({"images": "a"}, {"images": seen("file")}, "python x.py {data.image}"),
    "data-no-names": ({}, {}, "python x.py {data.images}"),
    "data-index-of-a-folder": ({"a": {"from": "a", "stage": "index"}}, {"a": seen("folder")}, "python x.py"),
    "data-unpack-a-file": ({"a": {"from": "a", "stage": "unpack"}}, {"a": seen("file")}, "python x.py"),
    "data-mount-a-tar": ({"a": {"from": "a", "stage": "mount"}}, {"a": seen("tar")}, "python x.py"),
    "data-unpack-does-not-fit": (
        {"a": {"from": "a.tar", "stage": "unpack"}}, {"a": seen("tar", 3 * G, 3 * G)}, "python x.py",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_a_wish_that_cannot_be_granted(name: str, golden: Golden) -> None:
    with pytest.raises(VoyageurError) as caught:
        planned(*ERRORS[name], site=with_disk("4G"))
    assert caught.value.exit_code == 2
    golden(f"{name}.txt", caught.value.text() + "\n")
