"""Images that cannot be run: one clear error, before anything is submitted where it can be known."""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.place import Place

pytest_plugins = ["tests.golden"]
Golden = Callable[[str, str], None]


def sif(path: Path, architecture: bytes = b"02\0", whole: bool = True) -> Path:
    """A file that begins as a SIF file does."""
    size = 4096
    head = struct.pack("<32s10s3s3s16s8q", b"#!/usr/bin/env run-singularity\n", b"SIF_MAGIC\0", b"01\0", architecture,
                       b"", 0, 0, 0, 0, 0, 0, 0, size if whole else 2 * size)  # fmt: skip
    path.write_bytes(head.ljust(size, b"\0"))
    return path


@pytest.fixture
def boxed(local: Place) -> Place:
    """This machine has a program called apptainer, which need not do anything, and nothing else of the kind."""
    programs = local.root / "programs"
    programs.mkdir()
    for name in ("apptainer", "python3", "git", "bash"):
        (programs / name).write_text(f'#!/bin/sh\nexec /usr/bin/{name} "$@"\n')
        (programs / name).chmod(0o755)
    local.environment["PATH"] = str(programs)
    local.write("train.py", "print()")
    return local


def said(place: Place, *arguments: str, on: str = "local", code: int = 2, verb: str = "plan") -> str:
    answer = place.voy(verb, "--on", on, *arguments, "--", "python", "train.py", code=code)
    text = answer.stderr.replace(str(place.root), "ROOT").replace(os.uname().machine, "THIS")
    text = re.sub(r"for (x86_64|aarch64)", "for ANOTHER", text)
    return re.sub(r"linux/\w+", "linux/THIS", re.sub(r"\.\d+\.sif", ".PID.sif", text))


def test_no_such_image(boxed: Place, golden: Golden) -> None:
    golden("error-missing.txt", said(boxed, "-s", "image.sif"))


def test_an_image_that_was_not_copied_whole(boxed: Place, golden: Golden) -> None:
    sif(boxed.project / "image.sif", whole=False)
    golden("error-not-whole.txt", said(boxed, "-s", "image.sif"))


def test_an_image_by_its_name_only(boxed: Place, golden: Golden) -> None:
    boxed.write("image.sif", "<html>404</html>")
    golden("error-no-sif.txt", said(boxed, "-s", "image.sif"))


def test_an_image_for_another_processor(boxed: Place, golden: Golden) -> None:
    sif(boxed.project / "image.sif", b"04\0" if os.uname().machine == "x86_64" else b"02\0")
    golden("error-architecture.txt", said(boxed, "-s", "image.sif"))


def test_an_image_for_another_processor_on_a_cluster_is_a_finding(boxed: Place) -> None:
    sif(boxed.project / "image.sif", b"02\0")
    image = str(boxed.project / "image.sif")
    answer = boxed.voy("plan", "--on", "jupiter", "-a", "x", "-g", "4", "-s", image, "--", "python", "train.py")
    assert "is for x86_64, and jupiter is aarch64" in " ".join(answer.stdout.split())


def test_a_docker_name_where_there_is_apptainer(boxed: Place, golden: Golden) -> None:
    golden("error-docker-name.txt", said(boxed, "-s", "pytorch/pytorch:2.4.0", on="delta"))


def test_a_sif_file_where_there_is_shifter(boxed: Place, golden: Golden) -> None:
    golden("error-sif-for-shifter.txt", said(boxed, "-s", "/images/torch.sif", on="perlmutter"))


def test_an_archive_of_docker(boxed: Place, golden: Golden) -> None:
    boxed.write("image.tar", "")
    golden("error-archive.txt", said(boxed, "-s", "image.tar"))


def test_an_image_and_a_virtual_environment(boxed: Place, golden: Golden) -> None:
    sif(boxed.project / "image.sif")
    boxed.write("voyageur.toml", '[env]\nimage = "image.sif"\nvenv = ".venv"\n')
    golden("error-both.txt", said(boxed))


def test_an_image_for_this_run_wins_over_the_files_environment(boxed: Place) -> None:
    sif(boxed.project / "image.sif")
    boxed.write("voyageur.toml", '[env]\nvenv = ".venv"\n')
    answer = boxed.voy("plan", "-s", "image.sif", "--", "python", "train.py")
    assert "bin/activate" not in answer.stdout


def test_no_runtime_on_this_machine(boxed: Place, golden: Golden) -> None:
    sif(boxed.project / "image.sif")
    (boxed.root / "programs" / "apptainer").unlink()
    golden("error-no-runtime.txt", said(boxed, "-s", "image.sif"))


def test_an_unknown_runtime(boxed: Place, golden: Golden) -> None:
    sif(boxed.project / "image.sif")
    boxed.write("voyageur.toml", '[env]\nimage = "image.sif"\nruntime = "aptainer"\n')
    golden("error-unknown-runtime.txt", said(boxed))


def test_binds_without_an_image(boxed: Place, golden: Golden) -> None:
    boxed.write("voyageur.toml", '[env]\nbinds = ["/data"]\n')
    golden("error-lonely.txt", said(boxed))


def test_a_bind_that_is_no_path(boxed: Place, golden: Golden) -> None:
    boxed.write("voyageur.toml", '[env]\nbinds = ["data"]\n')
    golden("error-bind.txt", said(boxed))


def test_an_image_that_the_registry_does_not_give(boxed: Place, golden: Golden) -> None:
    (boxed.root / "programs" / "apptainer").write_text("#!/bin/sh\necho 'FATAL: manifest unknown' >&2\nexit 255\n")
    golden("error-registry.txt", said(boxed, "-s", "docker://nobody/nothing:1", code=1, verb="submit"))
    assert not list((boxed.scratch / "container-images").glob("*"))
