"""What is typed: whose flags are whose, the file with the command, and `voy` alone."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.place import Place

ECHO = "import sys; print(sys.argv[1:])"


def planned_command(local: Place, *words: str) -> list[str]:
    return list(json.loads(local.voy("plan", "--json", *words).stdout)["command"])


@pytest.mark.parametrize("dashes", [(), ("--",)])
def test_flags_behind_the_program_are_its_own(local: Place, dashes: tuple[str, ...]) -> None:
    local.write("train.py", ECHO)
    words = ("python", "train.py", "-e", "10", "--time=5", "-n", "2", "--", "--json", "-h")
    assert planned_command(local, "-t", "5m", *dashes, *words) == list(words)
    out = local.voy("run", "-t", "5m", *dashes, *words).stdout
    assert "['-e', '10', '--time=5', '-n', '2', '--', '--json', '-h']" in out
    assert local.finish("-t", "5m", *dashes, *words)["state"] == "done"


def test_flags_before_the_program_are_ours(local: Place) -> None:
    local.write("train.py", ECHO)
    plan = json.loads(local.voy("plan", "-e", "big", "--json", "python", "train.py", "-e", "10").stdout)
    assert plan["experiment"] == "big"


def test_voy_alone_prints_its_help(local: Place) -> None:
    alone = local.voy()
    assert alone.stderr == ""
    assert alone.stdout == local.voy("--help").stdout
    assert "submit" in alone.stdout
    assert max(map(len, alone.stdout.splitlines())) <= 80


def test_python_dash_m(local: Place) -> None:
    answer = subprocess.run([sys.executable, "-m", "voyageur", "--version"], capture_output=True, text=True, check=True)
    assert answer.stdout.startswith("voyageur, version")


# ── -C ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "text",
    [
        "python train.py --lr 1\n",
        "#!/bin/bash\n# the best so far\n\npython train.py \\\n   --lr 1\n\n",
        "\ufeffpython train.py --lr 1",
        "python train.py \\\r\n  --lr 1\r\n",
    ],
)
def test_a_text_file_holds_one_command(local: Place, text: str) -> None:
    local.write("train.py", ECHO)
    (local.project / "command.txt").write_bytes(text.encode())
    assert planned_command(local, "-C", "command.txt") == ["python", "train.py", "--lr", "1"]


@pytest.mark.parametrize(
    ("content", "what", "hint"),
    [
        (b"module load x\npython train.py\n", "command.txt holds 2 commands, and a run has one", "bash command.txt"),
        (b"# nothing\n", "command.txt holds no command", "backslash"),
        (b"python tr\xe4in.py\n", "command.txt is not UTF-8 text", "save it as UTF-8"),
    ],
)
def test_a_text_file_that_holds_something_else(local: Place, content: bytes, what: str, hint: str) -> None:
    local.write("train.py", ECHO)
    (local.project / "command.txt").write_bytes(content)
    answer = local.voy("plan", "-C", "command.txt", code=2)
    assert answer.stderr.startswith(f"error: {what}")
    assert hint in answer.stderr.partition("hint: ")[2]


def test_a_pyproject_named_with_dash_c(local: Place) -> None:
    local.write("train.py", ECHO)
    local.write("pyproject.toml", "[project]\nname = 'x'\n[tool.voyageur]\ncommand = 'python train.py'\n")
    local.write("voyageur.toml", "command = 'false'\n")
    assert planned_command(local, "-C", "pyproject.toml") == ["python", "train.py"]


# ── where something was said ─────────────────────────────────────────────────────────────────────────────────────────


def test_an_unknown_site_or_style_names_its_place(local: Place) -> None:
    local.write("train.py", ECHO)
    words = ("--", "python", "train.py")
    answer = local.voy("plan", *words, code=2, VOY_SITE="narvall")
    assert "given by VOY_SITE" in answer.stderr and "did you mean `--on narval`?" in answer.stderr
    local.write("voyageur.toml", "\nsite = 'narvall'\n[launch]\nwith = 'per-nod'\n")
    assert "given by voyageur.toml:2" in local.voy("plan", *words, code=2, VOY_SITE="").stderr
    assert "asked for by voyageur.toml:4" in local.voy("plan", *words, code=2).stderr


def test_a_misspelled_table_of_a_site_is_pointed_out(local: Place) -> None:
    local.write("train.py", ECHO)
    local.write("voyageur.toml", "[sites.narvall]\naccount = 'a'\n[sites.oak]\naccount = 'b'\n")
    notes = json.loads(local.voy("plan", "--json", "--", "python", "train.py").stdout)["notes"]
    assert notes == [
        "[sites.narvall] (voyageur.toml:2) is of no known site, so it does not count; did you mean [sites.narval]?"
    ]


def test_the_users_own_file_is_named_by_its_place(local: Place) -> None:
    local.write("train.py", ECHO)
    own = local.home / ".config" / "voyageur" / "config.toml"
    own.parent.mkdir(parents=True)
    own.write_text("resources.time = '10min'\n")
    out = local.voy("plan", "--", "python", "train.py").stdout
    assert "asked for by ~/.config/voyageur/config.toml:1" in out


def test_a_secret_that_is_not_set_is_said_in_the_plan(local: Place) -> None:
    local.write("train.py", ECHO)
    local.write("voyageur.toml", "[env]\nsecrets = ['MY_TOKEN']\n")
    note = "note: the secret MY_TOKEN is not set in this shell"
    assert note in local.voy("plan", "--", "python", "train.py").stdout
    assert note not in local.voy("plan", "--", "python", "train.py", MY_TOKEN="x").stdout


@pytest.mark.parametrize("flags", [("--scratch", "~nosuchuser/x"), ("-C", "venv.toml")])
def test_the_folder_of_nobody(local: Place, flags: tuple[str, str]) -> None:
    local.write("train.py", ECHO)
    local.write("venv.toml", "env.venv = '~nosuchuser/x'\n")
    answer = local.voy("plan", *flags, "--", "python", "train.py", code=2)
    assert answer.stderr.startswith("error: there is no user `nosuchuser`")


@pytest.mark.parametrize("words", [("demo",), ("plan", "--", "true"), ("init",)])
def test_a_folder_that_is_gone(local: Place, tmp_path: Path, words: tuple[str, ...]) -> None:
    line = 'cd "$1" && rmdir "$1" && shift && exec "$@"'
    gone = tmp_path / "gone"
    gone.mkdir()
    voy = [sys.executable, "-c", "import sys; sys.path.pop(0); from voyageur.cli import main; main()", *words]
    answer = subprocess.run(
        ["bash", "-c", line, "bash", str(gone), *voy],
        env=local.environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert answer.returncode == 2, answer.stderr
    assert "error: the folder you are in does not exist any more" in answer.stderr
