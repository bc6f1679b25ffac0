"""What only the nodes can find out is said in the first second of the run, in one sentence that names the image."""

from __future__ import annotations

from typing import Any

import pytest

from tests.containers import rootfs
from tests.place import Place


@pytest.fixture
def boxed(local: Place) -> Place:
    (local.scratch / "image.sqsh").write_bytes(rootfs.squashfs().read_bytes())
    local.write("train.py", "print('begun')")
    with_image(local)
    return local


def with_image(place: Place, runtime: str = "charliecloud", more: str = "") -> None:
    image = place.scratch / "image.sqsh"
    place.write("voyageur.toml", f'[env]\nimage = "{image}"\nruntime = "{runtime}"\n{more}')


def ended(place: Place, *arguments: str) -> tuple[dict[str, Any], str]:
    found = place.finish(*arguments)
    log = place.log(found["run"])
    assert found["state"] == "failed", log
    assert "begun" not in log
    assert place.node_folders() == []
    return found, log


def test_a_program_that_the_image_lacks(boxed: Place) -> None:
    found, log = ended(boxed, "--", "python", "train.py")
    assert found["exit_code"] == 127
    assert found["because"] == f"the image {boxed.scratch}/image.sqsh has no `python`, but it has `python3`"
    assert f"voyageur: {found['because']}" in log


def test_a_module_that_the_launch_style_needs(boxed: Place) -> None:
    found, _ = ended(boxed, "-W", "torchrun", "--tasks", "2", "--", "python3", "train.py")
    assert f"the Python of the image {boxed.scratch}/image.sqsh has no module `torch`" in found["because"]


def test_a_runtime_that_the_node_lacks(boxed: Place) -> None:
    with_image(boxed, runtime="/nowhere/ch-run")
    found, _ = ended(boxed, "--", "python3", "train.py")
    assert "there is no `/nowhere/ch-run` on local1" in found["because"]


def test_a_bind_that_the_node_lacks(boxed: Place) -> None:
    with_image(boxed, more='binds = ["/nowhere"]\n')
    found, _ = ended(boxed, "--", "python3", "train.py")
    assert "there is no /nowhere on local1 ([env] binds)" in found["because"]


def test_an_image_that_is_damaged_behind_its_beginning(boxed: Place) -> None:
    image = boxed.scratch / "image.sqsh"
    content = bytearray(image.read_bytes())
    content[4096:-8192] = b"\xff" * (len(content) - 4096 - 8192)
    image.write_bytes(content)
    found, _ = ended(boxed, "--", "python3", "train.py")
    assert found["because"].startswith("the container image on local1: ")


def test_a_runtime_that_fails_before_the_program_begins(boxed: Place) -> None:
    """As Apptainer does where user namespaces are closed."""
    program = boxed.root / "bin" / "ch-run"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho 'no user namespaces here' >&2\nexit 255\n")
    program.chmod(0o755)
    with_image(boxed, runtime=str(program))
    found, log = ended(boxed, "--tasks", "1", "-W", "per-rank", "--", "python3", "train.py")
    assert found["exit_code"] == 255
    image = boxed.scratch / "image.sqsh"
    assert f"the container of {image} did not start on local1; ch-run says why above" in found["because"]
    assert "no user namespaces here" in log
