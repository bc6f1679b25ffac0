"""What a task makes of a container's recipe: what is seen inside, which variables come in, what is checked before."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest

from voyageur.runtime import inside
from voyageur.runtime.inside import Container, ContainerError, recipe_of
from voyageur.runtime.program import Program
from voyageur.runtime.results.saving import Saving
from voyageur.runtime.staging.aboard import Aboard
from voyageur.runtime.staging.wanted import IMAGE, Wanted, in_words

STARTER = '#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\nshift\nexec env -i PATH=/usr/bin:/bin "$@"\n'


class Node:
    """One node's folders; `box` is a runtime that clears the environment, and hides nothing else."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for name in ("scratch/p", "tmp/code", "run", "bin"):
            (root / name).mkdir(parents=True)
        self.image = root / "image.sif"
        self.image.write_bytes(b"image")
        (root / "bin" / "box").write_text(STARTER)
        (root / "bin" / "box").chmod(0o755)
        self.recipe: dict[str, Any] = {
            "said": "image.sif", "image": str(self.image), "words": ["box", "{BINDS}", "{IMAGE}", "--"],
            "bind": ["-b", "{FROM}:{TO}"], "environment": "none", "staged": True, "pass": ["OMP_NUM_THREADS"],
        }  # fmt: skip
        self.variables = {
            "PATH": f"{root}/bin:/usr/bin:/bin", "VOY_TMP": f"{root}/tmp", "VOY_RUN_DIR": f"{root}/run",
            "scratch_dir": f"{root}/scratch/p", "SLURMD_NODENAME": "n1", "OMP_NUM_THREADS": "4", "VOY_TOKEN": "t",
            "VOY_STAGE": in_words([Wanted(IMAGE, str(self.image), "none")]), "VOY_ATTEMPT": "1",
        }  # fmt: skip

    def program(self, *argv: str, **more: str) -> Program:
        variables = {**self.variables, **more, "VOY_CONTAINER": json.dumps(self.recipe)}
        aboard = Aboard(variables, "n1", variables["VOY_TMP"])
        return Program(list(argv), variables, f"{self.root}/tmp/code", aboard, Saving(variables, "n1", None))

    def container(self, **more: str) -> Container:
        return Container(self.program("true", **more), self.recipe)

    def run(self, *argv: str, **more: str) -> subprocess.CompletedProcess[str]:
        entry = inside.enter(self.program(*argv, **more))
        answer = subprocess.run(entry.argv, env=entry.environment, capture_output=True, text=True, check=False)
        assert not Path(entry.file).exists() or answer.returncode == 99
        return answer


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


def test_without_an_image_nothing_changes(node: Node) -> None:
    node.recipe = {}
    assert inside.enter(node.program("python", "x.py")).argv == ["python", "x.py"]


def test_values_arrive_letter_for_letter_and_only_those_of_the_run(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOSTS_OWN", "1")
    nasty = "two\nlines $HOME `id` 'q' \"d\" \\ é"
    answer = node.run("env", "-0", SECRET=nasty, HOSTS_OWN="1")
    found = dict(line.partition("=")[::2] for line in answer.stdout.split("\0") if line)
    assert found["SECRET"] == nasty
    assert found["OMP_NUM_THREADS"] == "4"
    assert found["HOME"] == f"{node.root}/tmp/home"
    assert found["PYTHONPATH"] == f"{node.root}/run/runtime.pyz"
    assert "HOSTS_OWN" not in found
    assert "VOY_CONTAINER" not in found


def test_the_file_with_the_variables_is_private_and_no_secret_is_a_word(node: Node) -> None:
    entry = inside.enter(node.program("true", SECRET="s3cret"))
    assert stat.S_IMODE(os.stat(entry.file).st_mode) == 0o600
    assert "s3cret" in Path(entry.file).read_text()
    assert not any("s3cret" in word for word in entry.argv)


def test_a_path_of_the_users_own_comes_in_and_the_nodes_does_not(node: Node) -> None:
    assert node.run("sh", "-c", "echo $PATH").stdout == "/usr/bin:/bin\n"
    node.recipe["pass"].append("PATH")
    assert node.run("sh", "-c", "echo $PATH").stdout == f"{node.variables['PATH']}\n"


def test_our_wrapper_of_a_rank_stays_outside_and_one_further_back_goes_in(node: Node) -> None:
    own = ["python9", "-I", f"{node.root}/run/runtime.pyz", "rank", "--"]
    first = inside.enter(node.program(*own, "python3", "x.py", VOY_PYTHON="python9"))
    assert first.argv[:6] == [*own, f"{node.root}/bin/box"]
    assert first.argv[-2:] == ["python3", "x.py"]
    launcher = ["python3.11", "-m", "torch.distributed.run"]
    behind = inside.enter(node.program(*launcher, *own, "python3", "x.py", VOY_PYTHON="python9"))
    assert behind.argv[-10:-7] == launcher
    assert behind.argv[-7:-2] == ["python3.11", *own[1:]]


# ── what is seen ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_what_is_reached_through_a_link_is_also_there_under_its_real_path(node: Node) -> None:
    (node.root / "link").symlink_to(node.root / "scratch")
    pairs = {path: source for source, path in node.container(scratch_dir=f"{node.root}/link/p").binds()}
    assert pairs[f"{node.root}/link/p"] == f"{node.root}/scratch/p"
    assert pairs[f"{node.root}/scratch/p"] == f"{node.root}/scratch/p"


def test_a_folder_below_another_is_not_bound_twice(node: Node) -> None:
    pairs = node.container(VOY_CHECKPOINTS=f"{node.root}/scratch/p").binds()
    assert [path for _, path in pairs] == sorted({f"{node.root}/run", f"{node.root}/scratch/p", f"{node.root}/tmp"})


def test_asked_for_under_another_name(node: Node) -> None:
    node.recipe["binds"] = [f"{node.root}/scratch:/inside"]
    assert (f"{node.root}/scratch", "/inside") in node.container().binds()


def test_mount_points_are_made_below_the_image_whatever_its_links_say(node: Node, tmp_path: Path) -> None:
    image = tmp_path / "image"
    (image / "real").mkdir(parents=True)
    (image / "var").symlink_to("/real")
    (image / "up").symlink_to("../../../..")
    assert inside._below(str(image), "/var/run/x") == f"{image}/real/run/x"
    assert inside._below(str(image), "/up/etc") == f"{image}/etc"
    assert inside._below(str(image), "/../../x") == f"{image}/x"


# ── the image ────────────────────────────────────────────────────────────────────────────────────────────────────────


def stamped(node: Node) -> None:
    found = node.image.stat()
    digest = hashlib.sha256(node.image.read_bytes()).hexdigest()
    node.recipe |= {"sha256": digest, "stamp": [found.st_size, found.st_mtime_ns]}


def test_an_image_that_was_only_copied_again_is_the_same(node: Node) -> None:
    stamped(node)
    os.utime(node.image, (1, 1))
    assert node.container().image == str(node.image)


def test_an_image_that_was_replaced_is_refused(node: Node) -> None:
    stamped(node)
    node.image.write_bytes(b"other")
    with pytest.raises(ContainerError, match="is another than when this was submitted"):
        node.container()


def test_a_recipe_without_words_is_srun_s_own_affair(node: Node) -> None:
    node.recipe["words"] = []
    assert recipe_of({"VOY_CONTAINER": json.dumps(node.recipe)}) == {}
