"""`voy env`: from what a project wants to one file that works anywhere."""

from __future__ import annotations

import json
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest

from tests.env.wheels import make_wheel
from tests.place import Place

ALPHA = "def main():\n    import beta\n    print('alpha with beta', beta.__version__)\n"


@pytest.fixture
def project(local: Place) -> Place:
    """Two packages that are asked for, a third that comes with one, and a folder of wheels instead of a network."""
    wheels = local.project / "wheels"
    make_wheel(wheels, "alpha", "1.0", requires=["beta>=2"], code=ALPHA, scripts={"say-alpha": "alpha:main"})
    make_wheel(wheels, "beta", "1.0")
    make_wheel(wheels, "beta", "2.0")
    make_wheel(wheels, "gamma", "3.1")
    local.write("requirements.txt", "--no-index\n--find-links wheels\nalpha\ngamma>=3  # for the figures\n")
    local.write("voyageur.toml", '[env]\nrequirements = ["requirements.txt"]\nform = "tar"\n')
    return local


def built(place: Place, *flags: str) -> dict[str, Any]:
    return dict(json.loads(place.voy("env", "build", "--json", *flags).stdout))


def unpacked(place: Place, made: dict[str, Any], where: str = "elsewhere/in here") -> Path:
    folder = place.root / where
    folder.mkdir(parents=True)
    with tarfile.open(made["archive"]) as tar:
        tar.extractall(folder, filter="fully_trusted")
    return folder


def said(*argv: object) -> str:
    done = subprocess.run([str(word) for word in argv], capture_output=True, text=True, cwd="/", check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_lock_names_every_package_with_its_digest(project: Place) -> None:
    answer = project.voy("env", "lock")
    assert "voyageur.lock: 3 packages" in answer.stdout
    text = (project.project / "voyageur.lock").read_text()
    assert "# wanted: alpha gamma\n" in text
    assert "beta==2.0 \\\n    --hash=sha256:" in text
    assert "    # wheels/beta-2.0-py3-none-any.whl\n" in text


def test_what_was_built_works_in_another_place(project: Place) -> None:
    project.voy("env", "lock")
    made = built(project)
    assert made["packages"] == ["alpha==1.0", "beta==2.0", "gamma==3.1"]
    folder = unpacked(project, made)
    assert said(folder / "bin" / "say-alpha") == "alpha with beta 2.0"
    assert said(folder / "bin" / "python", "-c", "import sys; print(sys.prefix)") == str(folder)
    shell = f'source "{folder}/bin/activate"; command -v say-alpha; echo "$VIRTUAL_ENV"'
    assert said("bash", "-c", shell).splitlines() == [f"{folder}/bin/say-alpha", str(folder)]


def test_the_same_lock_gives_the_same_bytes(project: Place) -> None:
    project.voy("env", "lock")
    first = built(project)
    second = built(project, "--again")
    assert first["digest"] == second["digest"]
    assert first["key"] == second["key"]


def test_nothing_of_the_place_where_it_was_made_is_in_it(project: Place) -> None:
    project.voy("env", "lock")
    folder = unpacked(project, built(project))
    named = [
        path
        for path in folder.rglob("*")
        if path.is_file() and not path.is_symlink() and b"voy-env-" in path.read_bytes()
    ]
    assert named == []


def test_what_is_there_is_not_made_again(project: Place) -> None:
    project.voy("env", "lock")
    first, second = built(project), built(project)
    assert first == second


def test_a_flipped_byte_in_a_wheel_is_refused(project: Place) -> None:
    project.voy("env", "lock")
    wheel = project.project / "wheels" / "gamma-3.1-py3-none-any.whl"
    content = bytearray(wheel.read_bytes())
    content[40] ^= 1
    wheel.write_bytes(bytes(content))
    answer = project.voy("env", "build", code=1)
    assert "error: gamma-3.1-py3-none-any.whl is not the file that was locked" in answer.stderr
    assert not list((project.scratch / ".voyageur" / "environments").glob("*.json"))


def test_a_newer_wheel_that_came_later_is_not_taken(project: Place) -> None:
    project.voy("env", "lock")
    make_wheel(project.project / "wheels", "beta", "9.9")
    assert "beta==2.0" in built(project)["packages"]
