"""Whole scripts, compared with golden files; read by shellcheck and by bash."""

import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath

import pytest

from voyageur import __version__
from voyageur.plan import FrozenCode, Identity, Plan, Surroundings, make_plan
from voyageur.script import render
from voyageur.site import Partition, Queues, Site, load_profile, site_from_answers
from voyageur.spec import Given, read_spec
from voyageur.units import Size

pytest_plugins = ["tests.golden"]
Golden = Callable[[str, str], None]

RECORDED = Path(__file__).parents[1] / "recorded"
NASTY = (
    "python",
    "my train.py",
    "--name",
    'it\'s "quoted" \\ and `id`',
    "%j",
    "$(touch x)",
    "${HOME}",
    "é🙂",
    "two\nlines\n#SBATCH --nodes=99",
    "",
    "*",
    "!!",
    "-",
    "a;b&c|d>e",
    "\t",
    "# no comment",
)
NOTE = "two\nlines $(touch w) 'q' \"Q\""


def recorded_cluster() -> Site:
    answers = [(RECORDED / name).read_text(encoding="utf-8") for name in ("sinfo.txt", "scontrol-show-config.txt")]
    return site_from_answers(*answers)


def machine() -> Site:
    only = Partition(name="local", default=True, cpus=4, memory=Size.parse("16G"))
    return Site(name="local", engine="local", title="this machine", queues=Queues(partitions=(only,)))


def plan(
    site: Site,
    flags: Mapping[str, object],
    *,
    folder: str = "/home/ana/weather",
    scratch: str = "/scratch/ana",
    has_venv: bool = True,
) -> Plan:
    given = {key: Given(value, "voyageur.toml:3") for key, value in flags.items()}
    spec = read_spec(folder=Path(folder), flags=given, environment={})
    identity = Identity(slug="train", token="3f2a5b6c7d8e")
    around = Surroundings(scratch=scratch, project_venv=f"{folder}/.venv" if has_venv else None)
    archive = PurePosixPath(scratch) / "weather" / "code" / "0a1b2c3d.tar"
    code = FrozenCode(archive=archive, checksum="0a1b2c3d" * 8, files=3, size=Size(3000))
    return make_plan(spec, site, around, identity, code)


TRAIN = ("python", "train.py", "--lr", "0.1", "--out", "{checkpoints}")


def local_script() -> str:
    return render(plan(machine(), {"command": TRAIN, "resources.nodes": 2}, has_venv=False))


def slurm_script() -> str:
    flags = {"command": TRAIN, "resources.gpus": 2, "resources.time": "3h", "launch.with": "per-rank"}
    return render(plan(recorded_cluster(), flags))


def narval_script() -> str:
    flags = {
        "command": TRAIN,
        "resources.nodes": 2,
        "resources.gpus": 4,
        "resources.time": "3d",
        "account": "def-prof",
        "env.variables": {"WANDB_MODE": "offline"},
    }
    return render(plan(load_profile("narval"), flags))


def nasty_script() -> str:
    flags = {
        "command": NASTY,
        "constraint": 'a&b|"c" #d \\ [e*1]',
        "env.venv": "/env s/$(touch y)",
        "env.modules": ["a b", "$(touch z)"],
        "env.variables": {"NOTE": NOTE, "EMPTY": ""},
    }
    folder = "/home/ana/it's $(touch v)\n🙂"
    return render(plan(recorded_cluster(), flags, folder=folder, scratch='/scratch/%j a"b #c d'))


SCRIPTS = {
    "local.sh": local_script,
    "slurm.sh": slurm_script,
    "narval.sh": narval_script,
    "nasty.sh": nasty_script,
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_script_is_the_one_that_people_have_read(golden: Golden, name: str) -> None:
    golden(name, SCRIPTS[name]().replace(f"Voyageur {__version__}", "Voyageur VERSION"))


@pytest.mark.parametrize("name", SCRIPTS)
def test_shellcheck_and_bash_find_nothing_to_say(tmp_path: Path, name: str) -> None:
    file = tmp_path / "job.sh"
    file.write_text(SCRIPTS[name](), encoding="utf-8")
    assert not said(["bash", "-n", str(file)])
    # SC2016 points at values that would expand if they stood in other quotes; that they do not is the point.
    assert not said(["shellcheck", "--shell=bash", "--exclude=SC2016", str(file)])


def said(argv: list[str]) -> str:
    answer = subprocess.run(argv, capture_output=True, text=True, check=False)
    return answer.stdout + answer.stderr


@pytest.mark.parametrize("name", SCRIPTS)
def test_directives_come_first_one_on_each_line_and_with_their_reasons(name: str) -> None:
    lines = SCRIPTS[name]().splitlines()
    directives = [number for number, line in enumerate(lines) if line.startswith("#SBATCH")]
    first_command = next(number for number, line in enumerate(lines) if line and not line.startswith("#"))
    before = [number for number in directives if number < first_command]
    assert before == list(range(before[0], before[0] + len(before)))
    assert all("  # " in lines[number] for number in before)
    assert not [line for line in lines[:first_command] if line.startswith("#PBS")]


# What would act on the world prints instead, so that a whole script can be run.
HARMLESS = """
module() { :; }
source() { :; }
mkdir() { :; }
exec() { printf '%s\\0' "$@"; }
. "$1"
printf '%s\\0' "$NOTE" "$project_name"
"""


def test_a_nasty_script_takes_no_value_for_a_command(tmp_path: Path) -> None:
    script, here = tmp_path / "job.sh", tmp_path / "here"
    script.write_text(nasty_script(), encoding="utf-8")
    here.mkdir()
    argv = ["bash", "--noprofile", "--norc", "-c", HARMLESS, "bash", str(script)]
    answer = subprocess.run(argv, cwd=here, capture_output=True, check=True)
    words = answer.stdout.decode().split("\0")[:-1]
    assert answer.stderr == b""
    assert words[words.index("--") + 1 :] == [*NASTY, NOTE, "it's $(touch v)\n🙂"]
    assert list(here.iterdir()) == []


def test_no_argument_makes_sbatch_take_the_script_for_a_dos_file() -> None:
    """sbatch refuses any script with a carriage return before a line feed, wherever it stands."""
    script = render(plan(recorded_cluster(), {"command": ("python", "t.py", "a\r\nb")}))
    assert "\r\n" not in script


@pytest.mark.parametrize("venv", [".venv", "envs/torch"])
def test_a_virtual_environment_of_the_project_is_found_from_the_jobs_folder(venv: str) -> None:
    script = render(plan(recorded_cluster(), {"command": TRAIN, "env.venv": venv}))
    assert f"source /home/ana/weather/{venv}/bin/activate" in script


def test_a_virtual_environment_below_home_is_found() -> None:
    script = render(plan(recorded_cluster(), {"command": TRAIN, "env.venv": "~/envs/torch"}))
    assert "source '~/envs" not in script


def test_secrets_are_named_nowhere_with_their_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_canary")
    assert "hf_canary" not in render(plan(recorded_cluster(), {"command": TRAIN, "env.secrets": ["HF_TOKEN"]}))
