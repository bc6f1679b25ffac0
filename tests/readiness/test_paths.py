"""Paths that exist on this machine only, in programs and in commands."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.plan.wishes import MACHINE
from tests.readiness.projects import STRICT, brief, findings, program
from voyageur.readiness.judge.paths import relative_fix
from voyageur.rules import Known
from voyageur.site import Place, Use
from voyageur.site.facts import Fingerprint, Storage


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("print(1)\nopen('/home/ada/data.csv')", "warning"),
        ("import pandas as pd\npd.read_csv('/mnt/disk/data.csv')", "warning"),
        ("from pathlib import Path\ndata = Path('/home/ada') / 'x'", "warning"),
        ("import numpy as np\nnp.load('/Users/ada/x.npy')", "error"),
        ("import torch\ntorch.load(r'C:\\data\\model.pt')", "error"),
        ("import os\nos.listdir('D:/images')", "error"),
        ("import os\nload(os.path.join('/home/ada', 'x'))", "warning"),
        ("import os\nopen(os.path.expanduser('~/Desktop/x.csv'))", "error"),
        ("name = 'x'\nopen(f'/home/ada/{name}')", "warning"),
        ("from mine import load\nload(root='/home/ada/images')", "warning"),
        ("from mine import Data\nData('/media/ada/disk')", "warning"),
        ("print(1)\nopen('../data/x.csv')", "warning"),
        ("import sys\nsys.path.append('/home/ada/lib')", "warning"),
        ("import subprocess\nsubprocess.run(['cp', '/home/ada/x', '.'])", "warning"),
        ("import os\nos.system('cp /home/ada/x .')", "warning"),
        ("class Config:\n    data: str = '/home/ada/data'\nprint(Config)", "warning"),
        ("print(1)\ndef load(path='/home/ada/x'): pass\nload()", "warning"),
    ],
)
def test_paths_of_this_machine_are_found(text: str, level: str, tmp_path: Path) -> None:
    assert program(tmp_path, text) == [f"{level} train.py:2 local-path"]


def test_a_constant_is_found_where_it_is_written(tmp_path: Path) -> None:
    text = "import os\nROOT = '/home/ada/data'\n\nopen(ROOT + '/a')\nopen(f'{ROOT}/b')\nopen(os.path.join(ROOT, 'c'))\n"
    assert program(tmp_path, text) == ["warning train.py:2 local-path"]


@pytest.mark.parametrize(
    "text",
    [
        "# open('/home/ada/x')\n",
        '"""Read /home/ada/x, or\nopen("/home/ada/x")\n"""\n',
        "print('/home/ada/x')\n",
        "raise ValueError('/home/ada/x')\n",
        "import logging\nlogging.getLogger(__name__).info('/home/ada/x')\n",
        "path = 'x'\nif path.startswith('/home/ada'): pass\n",
        "import os\nif os.path.exists('/home/ada/x'):\n    open('/home/ada/x')\n",
        "open('data/x')\n",
        "open('/tmp/x')\n",
        "open('/scratch/ada/x')\n",
        "open('~/x')\n",
        "import re\nre.compile('/home/ada/.*')\n",
        "import requests\nrequests.get('file.html#/home/x')\n",
        "import os\nos.path.join('a', '/home/')\n",
        "def unused():\n    open('/home/ada/x')\n",
        "def f(a='a:b', c='C:', d='http://x/home/y'): pass\nf()\n",
    ],
)
def test_texts_that_open_nothing_are_left_alone(text: str, tmp_path: Path) -> None:
    assert program(tmp_path, text) == []


OPTIONS = (
    "import argparse\n"
    "parser = argparse.ArgumentParser()\n"
    "parser.add_argument('-d', '--data', default='/home/ada/data')\n"
    "print(parser.parse_args().data)\n"
)


def test_defaults_count_unless_the_command_gives_another(tmp_path: Path) -> None:
    assert program(tmp_path, OPTIONS) == ["warning train.py:3 local-path"]
    for given in ("--data {scratch}/x", "--data={scratch}/x", "-d x"):
        assert program(tmp_path, OPTIONS, command=f"python train.py {given}") == []


def test_a_path_upwards_in_the_command(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "voyageur.toml").touch()
    assert program(tmp_path, "print(1)", command="python train.py --data ../data") == ["warning local-path"]
    assert program(tmp_path, "print(1)", command="python ../train.py ../data", start_in="src") == []


def test_defaults_of_click(tmp_path: Path) -> None:
    text = (
        "import click\n@click.command()\n@click.option('--data', default='/home/ada/x')\ndef main(data): pass\nmain()\n"
    )
    assert program(tmp_path, text) == ["warning train.py:3 local-path"]


def test_the_commands_own_arguments(tmp_path: Path) -> None:
    (found,) = findings(tmp_path, {"train.py": "print(1)"}, command="python train.py --data=/home/ada/x")
    assert brief((found,)) == ["warning local-path"]
    assert "in the command: '/home/ada/x'" in found.what
    (tmp_path / "voyageur.toml").write_text("# mine\naccount = 'x'\n")
    assert program(tmp_path, "print(1)", command="python train.py C:/data") == ["error local-path"]


def test_a_path_into_the_project_gets_its_relative_name() -> None:
    root = Path("/home/ada/project")
    assert relative_fix(root, "/home/ada/project/data/x") == "write it from the project's folder: 'data/x'"
    assert relative_fix(root, "/home/ada/projects/x") is None


def test_upwards_but_still_in_the_project(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"src/train.py": "open('../data/x')\n", "voyageur.toml": ""}
    assert brief(findings(tmp_path, files, start_in="src")) == []
    assert brief(findings(tmp_path, files, command="python src/train.py")) == ["warning src/train.py:1 local-path"]


def test_what_this_machine_has_is_fine_where_the_job_sees_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "Desktop").mkdir()
    project = tmp_path / "project"
    project.mkdir()
    text = "import os\nopen(os.path.expanduser('~/Desktop'))\n"
    assert program(project, text, site=MACHINE) == []
    assert program(project, text) == ["error train.py:2 local-path"]
    marked = replace(STRICT, fingerprint=Fingerprint(variables={"CC_CLUSTER": "strict"}))
    here = Known(environment={"CC_CLUSTER": "strict"})
    assert program(project, text, site=marked, known=here) == []
    assert program(project, text, site=marked) == ["error train.py:2 local-path"]


def test_shell_scripts_have_paths_too(tmp_path: Path) -> None:
    script = "#!/bin/bash\ncd /home/ada/project\necho /home/ada/project\npython train.py --data=/home/ada/x\n"
    found = findings(tmp_path, {"run.sh": script, "train.py": ""}, command="bash run.sh")
    assert brief(found) == ["warning run.sh:2 local-path", "warning run.sh:4 local-path"]


def test_results_in_home(tmp_path: Path) -> None:
    assert program(tmp_path, "from pathlib import Path\n(Path.home() / 'results').mkdir()\n") == []
    assert program(tmp_path, "import os\nfrom pathlib import Path\nos.makedirs(Path.home() / 'results')\n") == [
        "warning train.py:3 writes-to-home"
    ]
    text = "import os\nos.makedirs('~/results')\n"
    assert program(tmp_path, text) == ["warning train.py:2 writes-to-home"]
    locked = replace(STRICT, storage=Storage(places=(Place(name="home", path="$HOME", jobs=Use.READ_ONLY),)))
    assert program(tmp_path, text, site=locked) == ["error train.py:2 writes-to-home"]
    assert program(tmp_path, text, site=MACHINE) == []
