"""The exact command line of each container runtime, against its documentation, which `page` of the runtime names.

What can be installed here is also run for real (tests/behaviour/test_containers.py, tests/launchers); the others
cannot be had without their site.
"""

from __future__ import annotations

import json
import shlex
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.containers.rootfs import FOLDER
from tests.plan.wishes import CLUSTER, CODE, gpu, wish
from voyageur.containers import names, runtime_named, titles
from voyageur.containers.catalogue import TITLES
from voyageur.plan import Identity, Plan, SeenImage, Surroundings, make_plan
from voyageur.runtime import inside
from voyageur.runtime.program import Program
from voyageur.runtime.results.saving import Saving
from voyageur.runtime.staging.aboard import Aboard
from voyageur.script import render
from voyageur.site import Partition, Queues, Site
from voyageur.site.facts import LocalDisk, Software
from voyageur.units import Duration, Size

pytest_plugins = ["tests.golden"]
Golden = Callable[[str, str], None]

DIGEST = "sha256:" + "ab" * 32
AMD = replace(gpu("mi250", 4), vendor="amd")


def site(*containers: str, amd: bool = False) -> Site:
    partition = Partition(
        name="gpus", default=True, time_limit=Duration.parse("1d"), nodes=4, cpus=24, memory=Size.parse("256G"),
        gpus=(AMD if amd else gpu("a100", 4),),
    )  # fmt: skip
    return replace(
        CLUSTER,
        queues=Queues(partitions=(partition,)),
        software=Software(containers=containers),
        local_disk=LocalDisk(path="/local"),
    )


def planned(where: Site, image: str, kind: str, **asked: Any) -> Plan:
    seen = SeenImage(path=image, kind=kind, digest=DIGEST if kind == "SIF file" else "")
    around = Surroundings(scratch="/scratch", image=seen)
    spec = wish(env__image=image, **asked)
    return make_plan(spec, where, around, Identity(slug="train", token="0123456789ab"), CODE)


@pytest.fixture
def node() -> Iterator[Path]:
    """A node that has all the programs; nothing runs here. Not below /tmp, which some runtimes show in any case."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="node-", dir=FOLDER) as folder:
        yield _with_programs(Path(folder))


def _with_programs(folder: Path) -> Path:
    programs = folder / "bin"
    programs.mkdir()
    for name in names():
        runtime = runtime_named(name)
        assert runtime
        (programs / runtime.program).write_text("#!/bin/sh\n")
        (programs / runtime.program).chmod(0o755)
    for name in ("scratch/weather", "local", "node/code", "data", "images/torch"):
        (folder / name).mkdir(parents=True)
    return folder


def command_line(plan: Plan, node: Path) -> str:
    """As a task on the node makes it, one option a line; what is below the test's own folder begins with a slash."""
    variables = {export.name: export.value.replace("/scratch", f"{node}/scratch", 1) for export in plan.exports}
    recipe = json.loads(variables["VOY_CONTAINER"].replace(f"{node}/scratch", "/scratch"))
    recipe["staged"] = False
    recipe["image"] = recipe["image"].replace("/images", f"{node}/images")
    if "binds" in recipe:
        recipe["binds"] = [":".join(f"{node}{side}" for side in bind.split(":")) for bind in recipe["binds"]]
    variables |= {
        "VOY_CONTAINER": json.dumps(recipe), "PATH": f"{node}/bin", "VOY_TMP": f"{node}/node", "VOY_STAGE": "",
        "SLURMD_NODENAME": "n1", "SLURM_PROCID": "3", "SECRET": "never shown",
    }  # fmt: skip
    aboard = Aboard(variables, "n1", variables["VOY_TMP"])
    program = Program(list(plan.command), variables, f"{node}/node/code", aboard, Saving(variables, "n1", None))
    entry = inside.enter(program)
    text = "\n".join(shlex.quote(word) for word in entry.argv).replace(str(node), "")
    assert "never shown" not in text
    return text.replace(Path(entry.file).name, ".voyageur.enter") + "\n"


CASES: dict[str, tuple[Site, str, str, dict[str, Any]]] = {
    "apptainer": (site("apptainer"), "/images/torch.sif", "SIF file", {"gpus": 4}),
    "apptainer-amd": (site("apptainer", amd=True), "/images/torch.sif", "SIF file", {"gpus": 4}),
    "apptainer-binds": (site("apptainer"), "/images/torch.sif", "SIF file", {"env__binds": ["/data:/inside"]}),
    "singularity": (site("singularity"), "/images/torch.sif", "SIF file", {"gpus": 4}),
    "charliecloud": (site("charliecloud"), "/images/torch", "unpacked folder", {}),
    "podman": (site("podman"), "pytorch/pytorch:2.4.0", "image's name", {"gpus": 4}),
    "podman-amd": (site("podman", amd=True), "pytorch/pytorch:2.4.0", "image's name", {"gpus": 4}),
    "podman-folder": (site("podman"), "/images/torch", "unpacked folder", {}),
    "podman-hpc": (site("podman-hpc"), "docker://pytorch/pytorch:2.4.0", "registry image", {"gpus": 4}),
    "shifter": (site("shifter"), "docker://pytorch/pytorch:2.4.0", "registry image", {"gpus": 4}),
    "sarus": (site("sarus"), "docker://pytorch/pytorch:2.4.0", "registry image", {"gpus": 4}),
    "enroot": (site("enroot"), "/images/torch.sqsh", "squashfs image", {"gpus": 4}),
    "uenv": (site("edf", "uenv"), "prgenv-gnu/24.11:v1", "image's name", {"gpus": 4, "env__view": "default"}),
}


@pytest.mark.parametrize("name", CASES)
def test_what_a_task_runs(golden: Golden, node: Path, name: str) -> None:
    where, image, kind, asked = CASES[name]
    golden(f"{name}.txt", command_line(planned(where, image, kind, **asked), node))


IN_STEP = {
    "pyxis": (site("pyxis"), "/images/torch.sqsh", "squashfs image"),
    "pyxis-registry": (site("pyxis"), "docker://nvcr.io/nvidia/pytorch:24.05-py3", "registry image"),
    "edf": (site("edf", "uenv"), "my-torch", "image's name"),
    "edf-registry": (site("edf", "uenv"), "docker://nvcr.io/nvidia/pytorch:24.05-py3", "registry image"),
}


@pytest.mark.parametrize("name", IN_STEP)
def test_what_srun_is_told(golden: Golden, name: str) -> None:
    """The whole step, and the file that it is told of."""
    plan = planned(*IN_STEP[name], nodes=2, gpus=4, launch__with="per-rank", env__binds=["/project/shared"])
    assert plan.container
    golden(f"{name}.txt", "\n".join(plan.launch_words) + "\n" + plan.container.document)
    assert "VOY_CONTAINER" not in {export.name for export in plan.exports}
    assert plan.container.document in render(plan)


def test_one_process_in_a_container_of_sruns_gets_a_step() -> None:
    plan = planned(*IN_STEP["pyxis"])
    assert plan.launch.value == "per-node"
    assert "pyxis" in plan.launch.because
    assert plan.launch_words[0] == "srun"


@pytest.mark.parametrize("name", TITLES)
def test_names_titles_and_pages(name: str) -> None:
    runtime = runtime_named(name)
    assert runtime
    assert (runtime.name, runtime.title) == (name, TITLES[name])
    assert runtime.page.startswith("https://")
    assert titles()[name] == runtime.title
