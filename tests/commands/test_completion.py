"""Completion, driven as bash drives it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.place import Place
from voyageur.commands.verbs import VERBS
from voyageur.site import profile_names

# Called as bash calls it on TAB: COMP_WORDS and COMP_CWORD are set, the function fills COMPREPLY.
DRIVE = r"""
compopt() { echo "compopt $2"; }
source <(voy completion bash)
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_voy_completion "$1"
printf '%s\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def typed(local: Place) -> Place:
    tools = local.root / "tools"
    tools.mkdir()
    for name in ("voy", "voyageur"):
        (tools / name).write_text(f"#!{sys.executable}\nfrom voyageur.cli import main\nmain()\n")
        (tools / name).chmod(0o755)
    local.environment["PATH"] = f"{tools}:{local.environment['PATH']}"
    local.write("train.py", "print(1)")
    return local


def bash(local: Place, script: str, *words: str) -> list[str]:
    answer = subprocess.run(
        ["bash", "--norc", "-c", script, "bash", *words],
        cwd=local.project, env=local.environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert answer.stderr == "", answer.stderr
    return answer.stdout.split("\n")[:-1]


def offered(local: Place, *words: str) -> list[str]:
    return [word for word in bash(local, DRIVE, *words) if word]


def test_both_names_are_completed(typed: Place) -> None:
    lines = bash(typed, "source <(voy completion bash); complete -p voy voyageur")
    assert lines == [f"complete -o nosort -F _voy_completion {name}" for name in ("voy", "voyageur")]
    assert offered(typed, "voyageur", "sub") == ["submit"]


@pytest.mark.parametrize(
    ("shell", "line"), [("zsh", "compdef _voy_completion voyageur"), ("fish", "--command voyageur")]
)
def test_the_other_shells_too(typed: Place, shell: str, line: str) -> None:
    assert line in typed.voy("completion", shell).stdout


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("voy", "s"), ["submit", "status", "stop", "site"]),
        (("voy", "plan", "--on", ""), ["local", "slurm", *profile_names()]),
        (("voy", "submit", "--on", "na"), ["narval"]),
        (("voy", "run", "-W", "per"), ["per-node", "per-rank"]),
        (("voy", "run", "-e", ""), ["large", "small", "mine"]),
        (("voy", "run", "-e", "l"), ["large"]),
        (("voy", "run", "--gpu-"), ["--gpu-type"]),
        (("voy", "run", "--", "python", "tr"), ["compopt default"]),
        (("voy", "run", "--", "tr"), ["compopt default"]),
        (("voy", "run", "python", "tr"), ["compopt default"]),
        (("voy", "run", "--", "python", "train.py", "-e", "l"), ["compopt default"]),
        (("voy", "plan", "-C", "vo"), ["compopt default"]),
        (("voy", "plan", "--scratch", "x"), ["compopt dirnames"]),
        (("voy", "nonsense", ""), list(VERBS)),
    ],
)
def test_what_is_offered(typed: Place, words: tuple[str, ...], expected: list[str]) -> None:
    typed.write("voyageur.toml", "[experiment.large]\nqos = 'x'\n[experiment.small]\nqos = 'x'\n")
    own = typed.home / ".config" / "voyageur" / "config.toml"
    own.parent.mkdir(parents=True)
    own.write_text("[experiment.mine]\nqos = 'x'\n")
    assert offered(typed, *words) == expected


def test_runs_newest_first(typed: Place) -> None:
    runs = [typed.finish("-e", name, "--", "python", "train.py")["run"] for name in ("one", "two", "three")]
    typed.voy("status")
    assert offered(typed, "voy", "logs", "") == runs[::-1]
    assert offered(typed, "voy", "logs", "t") == [runs[2], runs[1]]


def test_a_broken_project_file_makes_no_noise(typed: Place) -> None:
    typed.write("voyageur.toml", "[experiment\n")
    assert offered(typed, "voy", "run", "-e", "") == []
