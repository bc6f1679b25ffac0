"""Modules are asked of a real Lmod where there is one; the wheelhouse by recorded answers of avail_wheels."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.site_commands import SiteCommands, recorded
from voyageur.allowance.wheels import nearest_version, plain_name, versions_from
from voyageur.hosts import Here
from voyageur.questions.modules import missing_modules
from voyageur.questions.wheels import ask_wheels, missing_wheels
from voyageur.site import Site, load_profile
from voyageur.units import Duration

NARVAL = load_profile("narval")
PLAIN = Site(name="plain", engine="slurm", title="plain")
LMOD = Path("/usr/share/lmod/lmod/init/bash")
needs_lmod = pytest.mark.skipif(not LMOD.exists(), reason="Lmod is not installed: tests/testbed/install.sh does that")


def login_shell(home: Path, profile: str, monkeypatch: pytest.MonkeyPatch) -> None:
    home.mkdir(exist_ok=True)
    (home / ".bash_profile").write_text(profile)
    monkeypatch.setenv("HOME", str(home))


@pytest.fixture
def hierarchy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """gcc opens the way to openmpi, as on the Alliance's clusters; and the login shell greets its user."""
    core, inner = tmp_path / "Core", tmp_path / "gcc-12"
    (core / "gcc").mkdir(parents=True)
    (inner / "openmpi").mkdir(parents=True)
    (core / "gcc" / "12.3.lua").write_text(f'prepend_path("MODULEPATH", "{inner}")\n')
    (inner / "openmpi" / "4.1.lua").write_text("")
    login_shell(
        tmp_path / "home", f"source {LMOD}\nexport MODULEPATH={core}\necho Welcome to the cluster\n", monkeypatch
    )
    return tmp_path


@needs_lmod
def test_modules_are_looked_for_in_the_order_in_which_a_job_loads_them(hierarchy: Path) -> None:
    assert missing_modules(Here(), PLAIN, ["gcc/12.3", "openmpi"]) == ()
    assert missing_modules(Here(), PLAIN, ["openmpi", "gcc"]) == ("openmpi",)
    assert missing_modules(Here(), PLAIN, ["gcc/11", "$(touch x)", "no such"]) == ("gcc/11", "$(touch x)", "no such")


@needs_lmod
def test_what_the_shell_has_loaded_does_not_help_where_a_job_purges(
    hierarchy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = hierarchy / "home"
    login_shell(home, (home / ".bash_profile").read_text() + "module load gcc\n", monkeypatch)
    keeps = replace(PLAIN, software=replace(PLAIN.software, purge=False))
    assert missing_modules(Here(), PLAIN, ["openmpi"]) == ("openmpi",)
    assert missing_modules(Here(), keeps, ["openmpi"]) == ()


def test_an_old_module_command_is_asked_for_its_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Modules 3.2: no is-avail, and `avail` prints what it finds on standard error."""
    old = """
        unset LMOD_VERSION MODULES_CMD BASH_ENV
        module() {
            case "$1 $2" in
                "-t avail") printf '/apps/modulefiles:\\ngcc/12.3(default)\\ngcccore/9\\n' >&2 ;;
                "is-avail "*) echo "ModuleCmd.c(166):ERROR:11: Unrecognized Command" >&2; return 1 ;;
            esac
        }
    """
    login_shell(tmp_path / "home", old, monkeypatch)
    assert missing_modules(Here(), PLAIN, ["gcc", "gcc/12.3", "gccco", "cuda"]) == ("gccco", "cuda")


def test_without_a_module_command_nothing_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    login_shell(tmp_path / "home", "unset -f module\nunset BASH_ENV\n", monkeypatch)
    assert missing_modules(Here(), PLAIN, ["gcc"]) is None


def test_a_login_shell_that_hangs_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    login_shell(tmp_path / "home", "sleep 60\n", monkeypatch)
    started = time.monotonic()
    assert missing_modules(Here(), PLAIN, ["gcc"], Duration(1)) is None
    assert time.monotonic() - started < 5


def test_no_modules_are_no_question() -> None:
    assert missing_modules(Here(), PLAIN, []) == ()


def test_the_question_is_shell_that_a_linter_takes() -> None:
    shellcheck = shutil.which("shellcheck")
    if not shellcheck:
        pytest.skip("shellcheck is not installed")
    script = Path(__file__).parents[2] / "src/voyageur/questions/which_modules.sh"
    answer = subprocess.run([shellcheck, "--shell=bash", str(script)], capture_output=True, text=True, check=False)
    assert answer.stdout == ""


# ── wheels ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_table_of_avail_wheels() -> None:
    """README of ComputeCanada's avail_wheels; columns name and version only."""
    assert versions_from(recorded("avail-wheels.txt")) == {"packaging": ["21.3"], "pip": [], "tabulate": ["0.8.10"]}
    assert versions_from("name    version\n------  ---------\n") == {}
    assert versions_from("Traceback (most recent call last):\n") is None


@pytest.mark.parametrize(
    ("requirement", "name"),
    [
        ("numpy>=1.21", "numpy"),
        ("Ray[tune] == 2", "ray"),
        ("a_b.c", "a-b-c"),
        ("torch ; python_version > '3'", "torch"),
    ],
)
def test_names_of_requirements(requirement: str, name: str) -> None:
    assert plain_name(requirement) == name


def test_the_nearest_version() -> None:
    versions = ["2.2.1", "2.1.0", "1.26.4", "1.23.0+computecanada"]
    assert nearest_version("numpy==1.25.0", versions) == "1.26.4"
    assert nearest_version("numpy<1.24", versions) == "1.23.0+computecanada"
    assert nearest_version("numpy>=3", versions) == "2.2.1"
    assert nearest_version("numpy", []) is None


def test_what_the_wheelhouse_lacks(site_commands: SiteCommands, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", site_commands.path(os.environ["PATH"]))
    site_commands.say("avail_wheels", recorded("avail-wheels.txt").replace("pip", "netCDF4"))
    versions = "--column name version --all-versions --not-available netcdf4"
    site_commands.say("avail_wheels", recorded("avail-wheels-all-versions.txt"), arguments=versions.split())
    wheels = ask_wheels(Here(), NARVAL, ["packaging", "netCDF4==1.5.5", "tabulate>=0.8"])
    assert wheels and [(wheel.requirement, wheel.version) for wheel in wheels] == [
        ("packaging", "21.3"),
        ("netCDF4==1.5.5", None),
        ("tabulate>=0.8", "0.8.10"),
    ]
    assert missing_wheels(wheels) == ("netCDF4==1.5.5 (it has 1.5.6)",)
    assert site_commands.asked("avail_wheels") == [
        "--column name version --not-available packaging netCDF4==1.5.5 tabulate>=0.8",
        versions,
    ]


def test_a_wheelhouse_that_cannot_be_asked_lacks_nothing(
    site_commands: SiteCommands, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ask_wheels(Here(), PLAIN, ["numpy"]) is None
    assert ask_wheels(Here(), NARVAL, ["numpy"]) is None
    monkeypatch.setenv("PATH", site_commands.path(os.environ["PATH"]))
    site_commands.hang("avail_wheels")
    assert ask_wheels(Here(), NARVAL, ["numpy"], patience=Duration(1)) is None
    assert missing_wheels(None) == ()
