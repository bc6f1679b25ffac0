"""`voy env`: from what a project wants to one file that works anywhere."""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

from tests.env.wheels import make_wheel
from tests.place import Place
from tests.site_commands import SiteCommands

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


def test_a_run_makes_what_is_missing_and_then_finds_it(project: Place) -> None:
    project.write("main.py", "import alpha, sys\nalpha.main()\nprint(sys.prefix)\n")
    first = project.voy("run", "--", "python", "main.py")
    assert "requirements.txt has no lock yet: voyageur.lock is written" in first.stderr
    assert "what voyageur.lock says is not built yet: it is made now, once, with 3 packages" in first.stderr
    assert "alpha with beta 2.0" in first.stdout
    second = project.voy("run", "--", "python", "main.py")
    assert "it is made now" not in second.stderr
    assert "alpha with beta 2.0" in second.stdout


def test_no_cache_lies_in_the_home(project: Place) -> None:
    project.write("main.py", "import alpha\n")
    project.voy("run", "--", "python", "main.py")
    project.voy("env", "prune", "--yes", "--all")
    kept = {path.relative_to(project.home).parts[:3] for path in project.home.rglob("*") if path.is_file()}
    assert kept == {(".local", "state", "voyageur")}


def test_settings_in_a_pyproject_do_not_make_a_lock_old(project: Place) -> None:
    text = '[project]\nname = "x"\ndependencies = ["alpha"]\n[tool.voyageur.env]\nrequirements = ["pyproject.toml"]\n'
    (project.project / "voyageur.toml").unlink()
    project.write("pyproject.toml", text)
    project.environment |= {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(project.project / "wheels")}
    project.voy("env", "lock")
    project.write("pyproject.toml", text + '[tool.voyageur.resources]\ntime = "1h"\n')
    built(project)
    project.write("pyproject.toml", text.replace("alpha", "alpha>=1"))
    assert "error: pyproject.toml has changed since" in project.voy("env", "build", code=2).stderr


def test_a_lock_that_does_not_hold_any_more_stops_a_run(project: Place) -> None:
    project.voy("env", "lock")
    with open(project.project / "requirements.txt", "a") as file:
        file.write("beta<2\n")
    for verb in (("run",), ("submit",), ("env", "build")):
        words = [*verb, "--", "true"] if verb[0] != "env" else verb
        answer = project.voy(*words, code=2)
        assert "error: requirements.txt has changed since the lock was made" in answer.stderr
        assert "`voy env lock" in answer.stderr
    assert "these packages do not go together" in project.voy("env", "lock", code=2).stderr


def on_a_cluster(place: Place, *profile: str) -> SiteCommands:
    """This machine is now a login node of `strict`, with commands of its own."""
    sites = place.home / ".config" / "voyageur" / "sites"
    sites.mkdir(parents=True)
    lines = ["engine = 'slurm'", "title = 'Strict'", *profile, "[fingerprint]", "variables = { STRICT = 'yes' }"]
    (sites / "strict.toml").write_text("\n".join(lines) + "\n")
    commands = SiteCommands(place.root / "site")
    commands.say("sbatch", "", code=1)
    place.environment |= {"PATH": commands.path(place.environment["PATH"]), "STRICT": "yes", "VOY_SITE": "strict"}
    return commands


def test_where_a_site_wants_a_job_the_hint_is_typed_as_it_is(project: Place) -> None:
    on_a_cluster(project, "[conduct]", "login_builds = 'forbidden'")
    answer = project.voy("submit", "--", "true", code=2)
    assert "error: requirements.txt has no lock yet" in answer.stderr
    assert "strict wants builds in a job, and not where people log in" in answer.stderr
    project.voy("env", "lock")
    answer = project.voy("submit", "--", "true", code=2)
    assert "error: what voyageur.strict.lock says is not built yet" in answer.stderr
    assert "hint: `voy env build`" in answer.stderr
    assert "error: strict forbids builds where people log in" in project.voy("env", "build", "--here", code=2).stderr


def test_a_wheelhouse_is_all_there_is_and_its_own_tool_says_what_it_lacks(project: Place) -> None:
    commands = on_a_cluster(project, "[software]", "wheelhouse = true", "wheels_command = 'avail_wheels'")
    table = "name     version\n-------  ---------\n"
    commands.say("avail_wheels", table + "gamma    3.1\nrare\n")
    with open(project.project / "requirements.txt", "a") as file:
        file.write("rare\n")
    answer = project.voy("env", "lock", code=2)
    assert "error: the wheelhouse of strict lacks rare\n  rare\n  asked: avail_wheels\n" in answer.stderr
    assert "hint: `voy env lock --download` fetches what is pure Python" in answer.stderr


def test_what_a_node_could_not_install_is_said_before_the_submit(project: Place) -> None:
    commands = on_a_cluster(project, "[software]", "wheelhouse = true", "wheels_command = 'avail_wheels'")
    commands.say("avail_wheels", "name     version\n-------  ---------\nrare\n")
    with open(project.project / "requirements.txt", "a") as file:
        file.write("rare\n")
    project.write("voyageur.toml", '[env]\nrequirements = ["requirements.txt"]\nbuild = "in-job"\n')
    answer = project.voy("submit", "--", "true", code=2)
    assert "error: the wheelhouse of strict lacks rare\n" in answer.stderr


def test_a_lock_from_elsewhere_is_relaxed_when_somebody_says_so(project: Place) -> None:
    project.voy("env", "lock")
    on_a_cluster(project, "[software]", "wheelhouse = true")
    (project.project / "wheels" / "gamma-3.1-py3-none-any.whl").unlink()
    make_wheel(project.project / "wheels", "gamma", "3.2")
    answer = project.voy("env", "lock", code=2)
    assert "  gamma==3.1: it has 3.2\n" in answer.stderr
    answer = project.voy("env", "lock", "--relax")
    assert "other versions than were wanted:\nPACKAGE  WANTED  TAKEN\ngamma    3.1     3.2\n" in answer.stdout
    assert (project.project / "voyageur.strict.lock").exists()


def test_a_full_quota_is_said_before_anything_is_made(project: Place) -> None:
    places = ["[storage]", "quota_command = 'diskusage_report'", "[storage.places.scratch]", "path = '$SCRATCH'"]
    commands = on_a_cluster(project, *places)
    head = "                             Description                Space           # of files\n"
    commands.say(
        "diskusage_report", f"{head}                     /scratch (user ada)         1GiB/  20TiB        1000K/ 1000K\n"
    )
    project.voy("env", "lock")
    answer = project.voy("env", "build", code=1)
    assert "error: there is no room for the environment in " in answer.stderr
    assert "files are there, and 5 more are wanted" in answer.stderr
    assert not (project.scratch / ".voyageur" / "environments").exists()


def test_a_project_with_nothing_of_it_is_left_alone(local: Place) -> None:
    local.write("main.py", "")
    assert local.voy("run", "--", "true").returncode == 0
    answer = local.voy("env", "build", code=2)
    assert "error: nothing here says which packages are wanted" in answer.stderr


# ── what was made ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_show_lists_what_there_is_and_who_uses_it(project: Place) -> None:
    assert "no environment was made yet" in project.voy("env", "show").stdout
    project.write("main.py", "import alpha\n")
    project.voy("run", "--", "python", "main.py")
    listed = json.loads(project.voy("env", "show", "--json").stdout)["environments"]
    assert [one["packages"] for one in listed] == [["alpha==1.0", "beta==2.0", "gamma==3.1"]]
    assert listed[0]["of_this_project"] is True
    assert len(listed[0]["runs"]) == 1
    key = listed[0]["key"]
    assert f"{key[:8]}*" in project.voy("env", "show").stdout
    told = project.voy("env", "show", key[:6]).stdout
    assert "alpha==1.0\nbeta==2.0\ngamma==3.1" in told
    assert listed[0]["runs"][0] in told
    assert "error: there is no environment ffff" in project.voy("env", "show", "ffff", code=1).stderr


def test_prune_takes_only_what_nothing_needs(project: Place) -> None:
    project.voy("env", "lock")
    kept = built(project)
    assert "nothing to remove" in project.voy("env", "prune", "--yes").stdout
    (project.project / "requirements.txt").write_text("--no-index\n--find-links wheels\ngamma\n")
    project.voy("env", "lock")
    new = built(project)
    folder = Path(kept["archive"]).parent
    (folder / "notes.txt").write_text("mine\n")
    (folder / f"{'a' * 24}.tar").write_text("half")
    (folder / f"{new['key']}.0123abcd.order").write_text("of a job that was cancelled")
    asked = project.voy("env", "prune", code=2)
    assert f"{kept['key']}: " in asked.stdout
    assert "hint: `voy env prune --yes` removes it" in asked.stderr
    assert Path(kept["archive"]).exists()
    project.voy("env", "prune", "--yes", "--older", "1d")
    assert Path(kept["archive"]).exists()
    project.voy("env", "prune", "--yes")
    names = {path.name for path in folder.iterdir()}
    assert names == {"notes.txt", *(f"{new['key']}.{end}" for end in ("tar", "tar.sums", "json", "log"))}
    project.voy("env", "prune", "--yes", "--all")
    assert [path.name for path in folder.iterdir()] == ["notes.txt"]


def test_what_a_run_uses_that_goes_on_stays(project: Place) -> None:
    project.write("main.py", "import time, alpha\nprint('up', flush=True)\ntime.sleep(100)\n")
    run = project.submit("--", "python", "main.py")
    project.until_logged(run, "up")
    (project.project / "voyageur.lock").unlink()
    assert "nothing to remove" in project.voy("env", "prune", "--yes", "--all").stdout
    project.voy("cancel", run)
    project.wait(run)
    assert "removed" in project.voy("env", "prune", "--yes").stderr


def test_a_run_whose_environment_is_gone_is_not_resumed(project: Place) -> None:
    project.write("main.py", "import alpha\nraise SystemExit(3)\n")
    run = project.finish("--", "python", "main.py")["run"]
    project.voy("env", "prune", "--yes", "--all")
    answer = project.voy("resume", run, code=1)
    assert f"error: the environment of {run} is not there any more" in answer.stderr
    assert "hint: `voy env build` in " in answer.stderr
    assert project.status(run)["state"] == "failed"
    project.voy("env", "build")
    project.voy("resume", run)
    assert project.wait(run)["because"] == "exit code 3"


# ── modules ──────────────────────────────────────────────────────────────────────────────────────────────────────────

LMOD = Path("/usr/share/lmod/lmod/init/bash")


@pytest.mark.skipif(not LMOD.exists(), reason="Lmod is not installed: tests/testbed/install.sh does that")
def test_an_environment_on_the_python_of_a_module(project: Place) -> None:
    """As on a cluster: the module brings the Python, and says where its wheels are."""
    python, modules = project.root / "apps" / "bin", project.root / "modules" / "python"
    python.mkdir(parents=True)
    modules.mkdir(parents=True)
    (python / "python3").symlink_to(Path(sys.base_prefix) / "bin" / "python3")
    house = project.root / "wheelhouse"
    (project.project / "wheels").rename(house)
    lines = [f'prepend_path("PATH", "{python}")', f'setenv("PIP_FIND_LINKS", "{house}")', 'setenv("PIP_NO_INDEX", "1")']
    (modules / "3.x.lua").write_text("\n".join(lines) + "\n")
    (project.home / ".bash_profile").write_text(f"source {LMOD}\nexport MODULEPATH={modules.parent}\n")
    project.write("requirements.txt", "alpha\n")
    project.write("voyageur.toml", '[env]\nrequirements = ["requirements.txt"]\nmodules = ["python/3.x"]\n')
    project.write("main.py", "import alpha\nalpha.main()\n")
    answer = project.voy("run", "--", "python", "main.py")
    assert "alpha with beta 2.0" in answer.stdout
    text = (project.project / "voyageur.lock").read_text()
    assert "# modules: python/3.x\n" in text
    assert f"    # {house}/alpha-1.0-py3-none-any.whl\n" in text
    project.write("voyageur.toml", '[env]\nrequirements = ["requirements.txt"]\nmodules = ["python/9"]\n')
    (project.project / "voyageur.lock").unlink()
    answer = project.voy("env", "lock", code=2)
    assert "error: the module python/9 could not be loaded" in answer.stderr
    assert "`module spider python` lists the versions there are" in answer.stderr
