"""Every usual way to say which packages a project wants becomes a lock."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import tarfile
from pathlib import Path

import pytest

from tests.env.wheels import make_wheel
from tests.workshop.bench import WorkBench
from voyageur.env.lock import lock_from, lock_text
from voyageur.errors import RunError, SpecError

SAY = "def main(): print(1)\n"


def stocked(bench: WorkBench) -> dict[str, str]:
    """Digests by name of file."""
    paths = [
        make_wheel(bench.wheels, "alpha", requires=["beta>=2"], scripts={"say": "alpha:main"}, code=SAY),
        make_wheel(bench.wheels, "beta", "2.0"),
        make_wheel(bench.wheels, "beta", "2.5"),
        make_wheel(bench.wheels, "extra", requires=['beta; extra == "more"']),
        make_wheel(bench.wheels, "windows"),
    ]  # fmt: skip
    bench.environment["PIP_NO_INDEX"] = "1"
    bench.environment["PIP_FIND_LINKS"] = str(bench.wheels)
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}


def names(bench: WorkBench, *files: str) -> list[str]:
    return [str(one) for one in bench.lock(*files).lock.packages]


def test_pyproject(bench: WorkBench) -> None:
    stocked(bench)
    bench.write("pyproject.toml", "[project]", 'name = "x"', 'dependencies = ["alpha", "beta<2.5"]')
    assert names(bench, "pyproject.toml") == ["alpha==1.0", "beta==2.0"]


def test_pipfile(quick: WorkBench) -> None:
    stocked(quick)
    quick.write(
        "Pipfile",
        "[packages]",
        'alpha = "*"',
        'beta = {version = "==2.0"}',
        "windows = {version = '*', markers = \"sys_platform == 'win32'\"}",
    )
    assert names(quick, "Pipfile") == ["alpha==1.0", "beta==2.0"]


def test_conda(quick: WorkBench) -> None:
    stocked(quick)
    quick.write(
        "environment.yml", "name: x", "channels: [conda-forge]", "dependencies:", "  - python=3.11",
        "  - cudatoolkit=11.8", "  - conda-forge::alpha=1.0=py311_0", "  - pip", "  - pip:", "      - beta<2.5",
    )  # fmt: skip
    locked = quick.lock("environment.yml")
    assert [str(one) for one in locked.lock.packages] == ["alpha==1.0", "beta==2.0"]
    assert locked.notes == ("not from PyPI, so a module must bring it if it is needed: cudatoolkit",)


def test_pipfile_lock_is_taken_as_it_is(bench: WorkBench) -> None:
    digests = stocked(bench)
    hashes = [f"sha256:{digests['beta-2.0-py3-none-any.whl']}"]
    default = {
        "beta": {"version": "==2.0", "hashes": hashes, "index": "pypi"},
        "windows": {"version": "==1.0", "hashes": [], "markers": "sys_platform == 'win32'"},
    }
    bench.write(
        "Pipfile.lock", json.dumps({"_meta": {}, "default": default, "develop": {"alpha": {"version": "==1.0"}}})
    )
    assert names(bench, "Pipfile.lock") == ["beta==2.0"]
    default["beta"]["hashes"] = ["sha256:" + "0" * 64]
    bench.write("Pipfile.lock", json.dumps({"_meta": {}, "default": default}))
    with pytest.raises(RunError) as error:
        bench.lock("Pipfile.lock")
    assert error.value.what == "beta-2.0-py3-none-any.whl is not a file that Pipfile.lock knows"


def test_poetry_lock_is_taken_as_it_is(quick: WorkBench) -> None:
    digests = stocked(quick)
    quick.write("pyproject.toml", "[tool.poetry.dependencies]", 'python = "^3.9"', 'alpha = "*"')
    packages = [
        ("alpha", "1.0", 'beta = ">=2"\nwindows = {version = "*", markers = "sys_platform == \\"win32\\""}'),
        ("beta", "2.0", ""),
        ("windows", "1.0", ""),
    ]
    for name, version, below in packages:
        file = f"{name}-{version}-py3-none-any.whl"
        with open(quick.root / "poetry.lock", "a") as lock:
            lock.write(
                f'[[package]]\nname = "{name}"\nversion = "{version}"\npython-versions = ">=3.8"\n'
                f'files = [{{file = "{file}", hash = "sha256:{digests[file]}"}}]\n[package.dependencies]\n{below}\n'
            )
    locked = quick.lock("poetry.lock").lock
    assert [str(one) for one in locked.packages] == ["alpha==1.0", "beta==2.0"]
    assert locked.wanted == ("alpha",)
    assert [source.name for source in locked.sources] == ["poetry.lock", "pyproject.toml"]


@pytest.mark.parametrize("wish", ["alpha", "windows; sys_platform == 'win32'"])
def test_poetry_wants_only_what_is_for_this_machine(quick: WorkBench, wish: str) -> None:
    """A package that is asked for on another system alone is none that the lock could lack."""
    digests = stocked(quick)
    quick.write(
        "pyproject.toml",
        "[project]",
        f"dependencies = {json.dumps([wish])}",
        "[tool.poetry.dependencies]",
        'extra = {version = "*", extras = ["more"]}',
        'gone = {version = "*", markers = "sys_platform == \'darwin\'"}',
        'other = {version = "*", platform = "win32"}',
        f'{wish.partition(";")[0]} = {{source = "elsewhere"}}',
    )
    for name, version, below in (
        ("alpha", "1.0", 'extra = "*"'),
        ("beta", "2.0", ""),
        ("extra", "1.0", 'beta = {version = "*", optional = true}\n[package.extras]\nmore = ["beta"]'),
    ):
        file = f"{name}-{version}-py3-none-any.whl"
        with open(quick.root / "poetry.lock", "a") as lock:
            lock.write(
                f'[[package]]\nname = "{name}"\nversion = "{version}"\npython-versions = ">=3.8"\n'
                f'files = [{{file = "{file}", hash = "sha256:{digests[file]}"}}]\n[package.dependencies]\n{below}\n'
            )
    expected = ["alpha==1.0"] if wish == "alpha" else []
    assert names(quick, "poetry.lock") == [*expected, "beta==2.0", "extra==1.0"]


OLD = {
    "poetry.lock": '[[package]]\nname = "beta"\nversion = "2.0"\nfiles = []\n',
    "uv.lock": """
[[package]]
name = "mine"
version = "1"
source = {virtual = "."}
dependencies = [{name = "beta"}]
[package.metadata]
requires-dist = [{name = "beta", specifier = ">=2"}]
[[package]]
name = "beta"
version = "2.0"
source = {registry = "x"}
wheels = [{url = "https://example.org/beta-2.0-py3-none-any.whl"}]
""",
    "Pipfile.lock": json.dumps({"_meta": {}, "default": {"beta": {"version": "==2.0"}}}),
}


@pytest.mark.parametrize("name", OLD)
@pytest.mark.parametrize("wish", ["beta>=2.5", "alpha"])
def test_a_lock_that_is_older_than_what_is_wanted_is_refused(quick: WorkBench, name: str, wish: str) -> None:
    stocked(quick)
    (quick.root / name).write_text(OLD[name])
    package, _, bound = wish.partition(">=")
    pipfile = ">=" + bound if bound else "*"
    quick.write("Pipfile", "[packages]", f'{package} = "{pipfile}"')
    quick.write("pyproject.toml", "[project]", f'dependencies = ["{wish}"]')
    with pytest.raises(SpecError) as error:
        quick.lock(name)
    assert error.value.what.startswith(f"{name} cannot be used: it ")
    assert "older than " in error.value.what and package in error.value.what
    quick.write("Pipfile", "[packages]", 'beta = ">=2"')
    quick.write("pyproject.toml", "[project]", 'dependencies = ["beta>=2"]')
    locked = quick.lock(name).lock
    assert [str(one) for one in locked.packages] == ["beta==2.0"]
    assert [source.name for source in locked.sources] in ([name, "pyproject.toml"], [name, "Pipfile"])


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("beta=2.0=py311_0", ["beta==2.0"]),
        ("beta <2.5", ["beta==2.0"]),
        ("beta 2.0 py311_0", ["beta==2.0"]),
        ("conda-forge::beta[version='>=2,<2.5']", ["beta==2.0"]),
        ("alpha[build=py311_0]", []),
    ],
)
def test_every_line_of_an_environment_yml_is_taken_or_named(quick: WorkBench, line: str, found: list[str]) -> None:
    stocked(quick)
    quick.write("environment.yml", "dependencies:", f'  - "{line}"')
    if found:
        assert names(quick, "environment.yml") == found
        return
    with pytest.raises(SpecError) as error:
        quick.lock("environment.yml")
    assert error.value.facts[0].startswith("environment.yml:2: ")


def test_what_pip_is_to_do_in_an_environment_yml(quick: WorkBench) -> None:
    stocked(quick)
    quick.write("more.txt", "beta<2.5")
    quick.write("environment.yml", "dependencies:", "  - alpha", "  - pip:", "    - -r more.txt", "    - extra[more]")
    locked = quick.lock("environment.yml").lock
    assert [str(one) for one in locked.packages] == ["alpha==1.0", "beta==2.0", "extra==1.0"]
    assert [source.name for source in locked.sources] == ["environment.yml", "more.txt"]
    quick.write("environment.yml", "dependencies:", "  - alpha", "  - pip:", "    - git+https://example.org/x.git")
    with pytest.raises(SpecError) as error:
        quick.lock("environment.yml")
    assert error.value.facts == ("environment.yml:4: git+https://example.org/x.git",)


def test_digests_in_a_requirements_file_hold(bench: WorkBench) -> None:
    right = stocked(bench)["beta-2.0-py3-none-any.whl"]
    wrong = "0" * 64
    bench.write("requirements.txt", "alpha", "beta==2.0 \\", f" --hash=sha256:{wrong} \\", f" --hash=sha256:{right}")
    assert names(bench, "requirements.txt") == ["alpha==1.0", "beta==2.0"]
    bench.write("requirements.txt", "alpha", f"beta==2.0 --hash=sha256:{wrong}")
    with pytest.raises(SpecError) as error:
        bench.lock("requirements.txt")
    assert error.value.what == "beta-2.0-py3-none-any.whl is not a file that requirements.txt knows"
    assert error.value.facts[0] == "requirements.txt:2: beta==2.0 has other digests"


def uv_lock(bench: WorkBench) -> None:
    """As uv itself makes it."""
    bench.write(
        "pyproject.toml", "[project]", 'name = "mine"', 'version = "1"', 'requires-python = ">=3.10"',
        'dependencies = ["alpha", "extra[more]", "windows; sys_platform == \'win32\'"]',
    )  # fmt: skip
    (bench.root / "index").mkdir()
    for wheel in bench.wheels.iterdir():
        folder = bench.root / "index" / wheel.name.split("-")[0]
        folder.mkdir(exist_ok=True)
        with open(folder / "index.html", "a") as page:
            page.write(f'<a href="{wheel.as_uri()}">{wheel.name}</a>\n')
    uv = ["uv", "lock", "-q", "--no-cache", "--no-config", "--default-index", (bench.root / "index").as_uri()]
    done = subprocess.run(uv, cwd=bench.root, env=tools(bench), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def tools(bench: WorkBench) -> dict[str, str]:
    import sys

    return {**bench.environment, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}


def test_uv_lock_is_taken_as_it_is(bench: WorkBench) -> None:
    digests = stocked(bench)
    uv_lock(bench)
    locked = bench.lock("uv.lock").lock
    assert [str(one) for one in locked.packages] == ["alpha==1.0", "beta==2.5", "extra==1.0"]
    assert locked.packages[0].sha256 == digests["alpha-1.0-py3-none-any.whl"]
    assert locked.wanted == ("alpha", "extra")
    assert bench.make(bench.lock("uv.lock")).packages == ("alpha==1.0", "beta==2.5", "extra==1.0")


@pytest.mark.parametrize("name", ["uv.lock", "poetry.lock", "Pipfile.lock", "pylock.toml"])
@pytest.mark.parametrize("text", ["", "{}", "[]", "package = 3", "[[package]]\nname = 1", '[[packages]]\nname = "x"'])
def test_a_lock_that_is_none_is_an_error_with_its_name(quick: WorkBench, name: str, text: str) -> None:
    quick.write("pyproject.toml", "[project]", 'dependencies = ["alpha"]')
    (quick.root / name).write_text(text)
    try:
        said = str(quick.lock(name).lock.packages or name)
    except SpecError as error:
        said = error.text()
    assert name in said


# ── taken whole ──────────────────────────────────────────────────────────────────────────────────────────────────────


def virtual_environment(bench: WorkBench) -> Path:
    folder = bench.root / ".venv"
    stocked(bench)
    base = bench.python().base
    for argv in ([base, "-m", "venv", str(folder)], [str(folder / "bin/pip"), "install", "-q", "alpha"]):
        subprocess.run(argv, env=bench.environment, check=True, capture_output=True)
    return folder


def test_a_virtual_environment_is_taken_as_it_is(quick: WorkBench, tmp_path: Path) -> None:
    virtual_environment(quick)
    locked = quick.lock(".venv")
    assert "alpha==1.0" in locked.lock.holds
    assert lock_from(lock_text(locked.lock)) == locked.lock
    built = quick.make(locked)
    out = tmp_path / "out"
    with tarfile.open(built.archive) as tar:
        tar.extractall(out, filter="fully_trusted")
    done = subprocess.run([out / "bin" / "say"], capture_output=True, text=True, check=True)
    assert done.stdout == "1\n"
    assert not (out / "bin" / "pip").exists()


def test_one_that_sees_the_packages_beneath_still_does(quick: WorkBench, tmp_path: Path) -> None:
    """As `virtualenv --system-site-packages` on top of a module makes it."""
    words = ["-m", "venv", "--without-pip", "--system-site-packages", str(quick.root / ".venv")]
    subprocess.run([quick.python().base, *words], check=True)
    built = quick.make(quick.lock(".venv"))
    out = tmp_path / "out"
    with tarfile.open(built.archive) as tar:
        tar.extractall(out, filter="fully_trusted")
    assert "include-system-site-packages = true\n" in (out / "pyvenv.cfg").read_text()
    code = "import site, sys; print(site.getsitepackages([sys.base_prefix])[0] in sys.path)"
    done = subprocess.run([str(out / "bin" / "python"), "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


def test_what_is_tied_to_a_folder_is_refused(quick: WorkBench) -> None:
    folder = virtual_environment(quick)
    packages = next(folder.glob("lib/python3*/site-packages"))
    (packages / "__editable__.mine-1.0.pth").write_text(f"{quick.root}\n")
    with pytest.raises(SpecError) as error:
        quick.lock(".venv")
    assert error.value.what == "mine in .venv is tied to a folder of this machine"


def packed(bench: WorkBench, *, python: bool = True) -> None:
    """As `conda pack` makes it, small: a Python that calls the one of this machine."""
    folder = bench.root / "packed"
    (folder / "bin").mkdir(parents=True)
    (folder / "conda-meta").mkdir()
    if python:
        (folder / "conda-meta" / "python-3.11.9-h5_0.json").write_text("{}")
        (folder / "conda-meta" / "numpy-1.26.4-py311_0.json").write_text("{}")
    (folder / "bin" / "python").write_text(f'#!/bin/sh\nexec {bench.python().base} "$@"\n')
    (folder / "bin" / "conda-unpack").write_text("import pathlib\npathlib.Path('unpacked-here').write_text('yes')\n")
    (folder / "bin" / "python").chmod(0o755)
    subprocess.run(["tar", "-czf", bench.root / "env.tar.gz", "-C", folder, "."], check=True)


def test_a_packed_conda_environment(quick: WorkBench) -> None:
    packed(quick)
    locked = quick.lock("env.tar.gz")
    assert locked.lock.holds == ("numpy==1.26.4", "python==3.11.9")
    built = quick.make(locked)
    assert (built.python, built.base, built.finish) == ("3.11.9", "", ("bin/python", "bin/conda-unpack"))
    with tarfile.open(built.archive) as tar:
        assert "unpacked-here" not in tar.getnames()
    with pytest.raises(SpecError) as error:
        quick.make(locked, form="squashfs", key="0" * 24)
    assert "cannot be an image" in error.value.what


def test_an_archive_without_a_python_is_refused(quick: WorkBench) -> None:
    packed(quick, python=False)
    with pytest.raises(SpecError) as error:
        quick.lock("env.tar.gz")
    assert error.value.what == "env.tar.gz is no packed environment with a Python"
    (quick.root / "env.tar.gz").write_bytes(b"no archive")
    with pytest.raises(SpecError) as error:
        quick.lock("env.tar.gz")
    assert error.value.what == "env.tar.gz cannot be read"
