"""`voy check`, as a user types it. A project made to break every rule has all of it found, and nothing else."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.golden import Golden
from tests.place import Place
from voyageur.findings import Level
from voyageur.rules import all_rules
from voyageur.rules.project import PROJECT_RULES

pytest_plugins = ["tests.golden"]

ROOT = Path(__file__).parents[2]
BROKEN: dict[str, str | bytes] = {
    "run.sh": b"#!/bin/bash\r\n"
    b"#SBATCH --account=def-ada\r\n"
    b"module load anaconda\r\n"
    b"pip install torch\r\n"
    b"python\xc2\xa0train.py\r\n"
    b"sbatch next.sh\r\n"
    b"python train.py\r\n",
    "train.py": """\
import os
import matplotlib.pyplot as plt
import torch
import wandb
from torch.utils.data import DataLoader
import broken
import tables

data = torch.zeros(3) if os.path.exists("/home/ada/x") else open("/home/ada/data.csv")
wandb.init()
name = input("go on?")
first = DataLoader(data, 8, num_workers=64)
second = DataLoader(data)
cores = os.cpu_count()
os.system("pip install einops")
os.makedirs("~/results")
plt.show()
torch.save(data, "model.pt")
data.sum().backward()
""",
    "broken.py": "print 'two'\n",
    "tables.py": "X = 1\n" * 200_000,
    "unused.py": "input()\nimport matplotlib.pyplot as plt\nplt.show()\n",
}
EXPECTED = {
    "asks-for-input": "train.py:11",
    "batch-of-one": "train.py:13",
    "broken-syntax": "broken.py:1",
    "conda-discouraged": "run.sh:3",
    "cores-of-the-node": "train.py:14",
    "dos-line-ends": "run.sh:1",
    "downloads-at-run-time": "train.py:10",
    "graphical-display": "train.py:17",
    "hidden-characters": "run.sh:5",
    "installs-at-run-time": "train.py:15",
    "local-path": "train.py:9",
    "many-small-files": "data",
    "no-resume": "train.py:18",
    "no-workers": "train.py:13",
    "not-looked-through": "tables.py",
    "pip-without-no-index": "run.sh:4",
    "published-account": "run.sh:2",
    "single-process-launch": "train.py",
    "slow-precision": "train.py:19",
    "submits-from-the-job": "run.sh:6",
    "too-many-workers": "train.py:12",
    "writes-to-home": "train.py:16",
}
# These three cannot be broken together with those above, or want an answer of the cluster; tests/readiness has them.
APART = {"no-checkpoint", "no-gpu-library", "missing-wheels"}


def check(place: Place, *words: str, code: int | None = 0) -> subprocess.CompletedProcess[str]:
    return place.voy("check", *words, code=code)


def found(place: Place, *words: str, code: int | None = 0) -> list[dict[str, Any]]:
    return list(json.loads(check(place, "--json", *words, code=code).stdout)["findings"])


def broken_project(local: Place) -> None:
    for name, content in BROKEN.items():
        path = local.write(name, "")
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    for number in range(10_000):
        local.write(f"data/{number}", "") if number == 0 else (local.project / f"data/{number}").touch()
    subprocess.run(["git", "init", "--quiet", str(local.project)], check=True)
    local.write(".gitignore", "data/\n")
    subprocess.run(["git", "-C", str(local.project), "add", "."], check=True)


def narval(*words: str) -> list[str]:
    return ["--on", "narval", "-a", "def-ada", *words]


def test_a_project_made_to_break_every_rule(local: Place) -> None:
    broken_project(local)
    words = narval("-g", "4", "-G", "a100", "-t", "12h", "--", "bash", "run.sh")
    findings = found(local, *words, code=1)
    places = {each["rule"]: f"{each['file']}:{each['line']}" if each["line"] else each["file"] for each in findings}
    project = {rule.id for rule in PROJECT_RULES}
    assert set(EXPECTED) | APART == project
    ours = [each["rule"] for each in findings if each["rule"] in project]
    known_here = set(EXPECTED) - {"submits-from-the-job"}  # nobody says that of narval
    assert sorted(ours) == sorted(known_here)
    assert {rule: places[rule] for rule in known_here} == {rule: EXPECTED[rule] for rule in known_here}


@pytest.mark.parametrize("site", ["local", "narval"])
@pytest.mark.parametrize(
    "name", ["plain", "per-node", "per-rank", "stop-file", "warning-signal", "environment", "demo"]
)
def test_the_examples_are_clean(name: str, site: str, local: Place) -> None:
    shutil.rmtree(local.project)
    source = ROOT / "src/voyageur/demo/project" if name == "demo" else ROOT / "examples" / name
    shutil.copytree(source, local.project, ignore=shutil.ignore_patterns("__pycache__"))
    answer = check(local, "--on", site, "-a", "def-ada")
    assert answer.stdout == f"ready for {site}: nothing found\n"


def test_text(local: Place, golden: Golden) -> None:
    local.write("train.py", "import cv2\nimport matplotlib.pyplot as plt\ncv2.imshow('x', 1)\nplt.show()\n")
    local.write("voyageur.toml", 'command = "python3 train.py"\n')
    golden("check.txt", check(local, *narval(), code=1).stdout)


def test_exit_codes(local: Place) -> None:
    local.write("train.py", "import matplotlib.pyplot as plt\nplt.show()\n")
    command = ("--", "python3", "train.py")
    assert check(local, *command).stdout.endswith("\nready for local: 1 warning\n")
    check(local, "--strict", *command, code=1)
    check(local, "--strict", "--ignore", "graphical-display", *command, code=0)
    local.write("train.py", "input()\n")
    assert "not ready for local: 1 error\n" in check(local, *command, code=1).stdout
    check(local, "--ignore", "asks-for-input", *command, code=0)


def test_rules_that_the_project_ignores(local: Place) -> None:
    local.write("train.py", "input()\n")
    local.write("voyageur.toml", 'command = "python3 train.py"\ncheck.ignore = ["asks-for-input"]\n')
    assert check(local).stdout == "ready for local: nothing found (1 ignored)\n"
    assert json.loads(check(local, "--json").stdout)["ignored"] == 1
    local.write("voyageur.toml", 'command = "python3 train.py"\n[check]\nignore = ["ask-for-input"]\n')
    answer = check(local, code=2)
    assert answer.stdout == ""
    assert answer.stderr == (
        "error: there is no rule `ask-for-input`\n  given by voyageur.toml:3\n\nhint: did you mean `asks-for-input`?\n"
    )


def test_a_rule_that_is_not_there(local: Place) -> None:
    local.write("train.py", "print(1)\n")
    answer = check(local, "--ignore", "zzz", "--", "python3", "train.py", code=2)
    assert "there is no rule `zzz`" in answer.stderr
    assert "in brackets" in answer.stderr


def test_without_a_command_it_is_bad_input(local: Place) -> None:
    local.write("notes.txt", "nothing to run\n")
    assert check(local, code=2).stdout == ""


def test_json(local: Place) -> None:
    local.write("train.py", "input()\n")
    document = json.loads(check(local, "--json", "--", "python3", "train.py", code=1).stdout)
    (finding,) = document.pop("findings")
    assert document == {
        "site": "local",
        "ready": False,
        "counts": {"error": 1, "warning": 0, "hint": 0},
        "ignored": 0,
        "advice": [],
    }
    assert finding["rule"] == "asks-for-input"
    assert (finding["file"], finding["line"], finding["level"]) == ("train.py", 1, "error")
    assert all(finding[field] for field in ("what", "because", "fix", "source"))


# ── SARIF ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_sarif(local: Place) -> None:
    local.write("my train.py", "import os, cv2\nos.cpu_count()\ncv2.imshow('x', 1)\nopen('/mnt/x/y')\n")
    words = ("--sarif", *narval(), "--", "python3", "my train.py", "/home/ada/x")
    document = json.loads(check(local, *words, code=1).stdout)
    validate(document)
    results = document["runs"][0]["results"]
    assert [result["level"] for result in results] == ["error", "warning", "warning", "note"]
    place = results[0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "my%20train.py", "uriBaseId": "%SRCROOT%"}
    assert place["region"] == {"startLine": 3}
    assert results[1]["locations"] == []  # a word of the command that was typed stands in no file


def test_sarif_of_nothing_is_a_document_too(local: Place) -> None:
    local.write("train.py", "print(1)\n")
    document = json.loads(check(local, "--sarif", "--", "python3", "train.py").stdout)
    validate(document)
    assert document["runs"][0]["results"] == []


def validate(document: dict[str, Any]) -> None:
    """What the standard's schema asks of the parts that are used: names, types, and what must be there."""
    assert document["version"] == "2.1.0"
    assert set(document) == {"$schema", "version", "runs"}
    (run,) = document["runs"]
    assert set(run) <= {"tool", "results", "columnKind", "originalUriBaseIds"}
    assert run["columnKind"] in ("utf16CodeUnits", "unicodeCodePoints")
    driver = run["tool"]["driver"]
    assert isinstance(driver["name"], str)
    for rule in driver["rules"]:
        assert set(rule) <= {
            "id", "shortDescription", "fullDescription", "help", "defaultConfiguration", "properties"
        }  # fmt: skip
        assert rule["defaultConfiguration"]["level"] in ("none", "note", "warning", "error")
        assert all(isinstance(rule[name]["text"], str) for name in ("shortDescription", "fullDescription", "help"))
    assert len({rule["id"] for rule in driver["rules"]}) == len(driver["rules"])
    for result in run["results"]:
        assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in ("none", "note", "warning", "error")
        assert result["message"]["text"]
        for location in result["locations"]:
            physical = location["physicalLocation"]
            assert not physical["artifactLocation"]["uri"].startswith("/")
            assert physical.get("region", {"startLine": 1})["startLine"] >= 1


# ── the rules themselves ─────────────────────────────────────────────────────────────────────────────────────────────


def test_every_rule_has_its_own_word_and_says_why() -> None:
    ids = [rule.id for rule in PROJECT_RULES]
    assert len(set(ids)) == len(ids)
    for rule in PROJECT_RULES:
        assert rule in all_rules()
        assert rule.because
        assert rule.fix
        assert rule.source or rule.level is Level.HINT


def test_every_rule_is_explained() -> None:
    text = (ROOT / "docs" / "check.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `([a-z-]+)` \| (\w+) \|", text, re.MULTILINE))
    assert rows == {rule.id: rule.level.value for rule in PROJECT_RULES}


def test_the_fields_of_the_document_are_listed(local: Place) -> None:
    local.write("train.py", "input()\n")
    document = json.loads(check(local, "--json", "--", "python3", "train.py", code=1).stdout)
    told = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8").partition("## voy check")[2]
    for field in {*document, *document["findings"][0]}:
        assert f"`{field}`" in told
