"""Files that are broken, odd, published or too many, and files that nobody expected."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.plan.wishes import MACHINE
from tests.readiness.projects import STRICT, brief, findings, program
from voyageur.allowance import Quota
from voyageur.readiness import requirements_of
from voyageur.readiness.requirements import requirement_in
from voyageur.readiness.small_files import find_crowds
from voyageur.rules import Known

Files = dict[str, str | bytes]


# ── line ends and characters ─────────────────────────────────────────────────────────────────────────────────────────


def test_dos_line_ends_break_scripts(tmp_path: Path) -> None:
    files: Files = {"run.sh": b"#!/bin/bash\r\npython train.py\r\n", "train.py": b"#!/usr/bin/env python\r\nx = 1\r\n"}
    assert brief(findings(tmp_path, files, command="bash run.sh")) == [
        "error run.sh:1 dos-line-ends",
        "hint train.py:1 dos-line-ends",
    ]
    assert brief(findings(tmp_path, files, command="./train.py")) == [
        "error train.py:1 dos-line-ends",
        "hint run.sh:1 dos-line-ends",
    ]


def test_python_without_a_shebang_minds_no_line_ends(tmp_path: Path) -> None:
    assert brief(findings(tmp_path, {"train.py": b"x = 1\r\nprint(x)\r\n"})) == []


def test_hidden_characters_in_scripts(tmp_path: Path) -> None:
    script = "#!/bin/bash\npython\u00a0train.py\n# a\u00a0comment\necho 'a\u00a0text'\npython \u200btrain.py\n"
    found = findings(tmp_path, {"run.sh": script}, command="bash run.sh")
    assert brief(found) == ["error run.sh:2 hidden-characters", "error run.sh:5 hidden-characters"]
    assert found[0].what == "the line holds a space that does not break (U+00A0)"


def test_a_byte_order_mark_hides_the_shebang(tmp_path: Path) -> None:
    files: Files = {"run.sh": "\ufeff#!/bin/bash\necho 1\n", "train.py": "\ufeff#!/usr/bin/python\nprint(1)\n"}
    assert brief(findings(tmp_path, files, command="bash run.sh")) == ["error run.sh:1 hidden-characters"]
    assert brief(findings(tmp_path, files, command="./train.py"))[0] == "error train.py:1 hidden-characters"


def test_hidden_characters_in_the_project_file(tmp_path: Path) -> None:
    text = "# a\u00a0comment\nexperiment = 'a'\nscratch = '/scr\u200batch'\n"
    files: Files = {"train.py": "print(1)\n", "voyageur.toml": text}
    assert brief(findings(tmp_path, files)) == ["warning voyageur.toml:3 hidden-characters"]


# ── broken Python ────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"x = 1\nprint 'a'\n", 2),
        (b"x = 1\ndef f(:\n", 2),
        (b"%matplotlib inline\n", 1),
        (b"x = '\0'\n", 1),
        (b"# coding: nonsense\n", 1),
        (b"x = 1\ny = '\xff'\n", 1),
        ("x\u00a0= 1\n".encode(), 1),
    ],
)
def test_broken_python_is_an_error_where_it_is_reached(content: bytes, line: int, tmp_path: Path) -> None:
    (found,) = findings(tmp_path, {"train.py": content, "other.py": b"print 1"})
    assert (found.level.value, found.rule, found.file) == ("error", "broken-syntax", "train.py")
    assert found.line in (line, 2)


def test_a_notebook_that_was_saved_as_a_program(tmp_path: Path) -> None:
    (found,) = findings(tmp_path, {"train.py": "x = 1\n%matplotlib inline\n"})
    assert brief((found,)) == ["error train.py:2 broken-syntax"]
    assert found.what.startswith("`%matplotlib inline` is a notebook's command, and no Python")


def test_a_newer_python_may_read_it(tmp_path: Path) -> None:
    files: Files = {"train.py": "print 1\n"}
    found = findings(tmp_path, files, env__modules=["python/3.99"])
    assert brief(found) == ["warning train.py:1 broken-syntax"]


def test_other_encodings_are_read_as_python_reads_them(tmp_path: Path) -> None:
    text = "# -*- coding: latin-1 -*-\nx = 'é'\ninput(x)  # voy: ignore[asks-for-input]\n"
    assert brief(findings(tmp_path, {"train.py": text.encode("latin-1")})) == ["error train.py:3 asks-for-input"]


# ── what nobody expects ──────────────────────────────────────────────────────────────────────────────────────────────


def test_expressions_and_blocks_of_any_depth(tmp_path: Path) -> None:
    deep: Files = {
        "train.py": "import chain, sums, nested, parts\ninput()\n",
        "chain.py": "x = a" + ".b()" * 5_000 + "\n",
        "sums.py": "x = " + "1 + " * 20_000 + "1\n",
        "nested.py": "if x:\n    pass\n" + "elif x:\n    pass\n" * 3_000,
        "parts.py": "x = " + "(" * 190 + ")" * 190 + "\n" + "x = " + "[" * 150 + "]" * 150 + "\n",
    }
    found = brief(findings(tmp_path, deep))
    assert "error train.py:2 asks-for-input" in found
    assert all("asks-for-input" in each or "not-looked-through" in each or "broken-syntax" in each for each in found)


def test_loops_of_links_and_what_is_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "gone.py").symlink_to("nowhere.py")
    (tmp_path / "self.py").symlink_to("self.py")
    os.mkfifo(tmp_path / "pipe.py")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket.py")
        names = ["train.py", "gone.py", "self.py", "pipe.py", "socket.py"]
        text = "".join(f"import {name.removesuffix('.py')}\n" for name in names[1:])
        found = findings_of_names(tmp_path, text, names)
    assert found == [f"hint {name} not-looked-through" for name in sorted(names[1:])]


def findings_of_names(root: Path, text: str, names: list[str]) -> list[str]:
    """As if all of these travelled, whatever they are."""
    from tests.plan.wishes import CODE
    from voyageur.plan import Identity, Surroundings, make_plan
    from voyageur.readiness import look
    from voyageur.spec import Given, read_spec

    (root / "train.py").write_text(text)
    spec = read_spec(folder=root, flags={"command": Given("python train.py", "a test")}, environment={})
    identity = Identity(slug="train", token="0123456789ab")
    plan = make_plan(spec, STRICT, Surroundings(scratch="/scratch"), identity, CODE)
    return brief(look(root, names, spec, STRICT, plan))


def test_generated_code_is_skipped_and_said_so(tmp_path: Path) -> None:
    files: Files = {"train.py": "import tables\n", "tables.py": "X = 'input()'\n" * 100_000}
    (found,) = findings(tmp_path, files)
    assert brief((found,)) == ["hint tables.py not-looked-through"]
    assert "larger than programs" in found.what


def test_names_and_commands_that_are_no_text(tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9.py")
    files: Files = {name: "input()\n"}
    assert brief(findings(tmp_path, files, command=f"python {name}")) == [f"error {name}:1 asks-for-input"]


@pytest.mark.parametrize("content", ["", "{}", "[]", "nonsense", '{"cells": 3}', '{"cells": [3, {"source": 4}]}'])
def test_notebooks_that_are_none(content: str, tmp_path: Path) -> None:
    found = brief(findings(tmp_path, {"a.ipynb": content}, command="jupyter nbconvert --execute a.ipynb"))
    assert found in ([], ["hint a.ipynb not-looked-through"])


# ── notebooks ────────────────────────────────────────────────────────────────────────────────────────────────────────


def notebook(*cells: str) -> str:
    documents = [{"cell_type": "code", "source": cell.splitlines(keepends=True)} for cell in cells]
    documents.insert(0, {"cell_type": "markdown", "source": ["input()\n", "plt.show()"]})
    return json.dumps({"cells": documents, "nbformat": 4}, indent=1)


def test_notebooks_are_read_and_their_lines_are_those_of_the_file(tmp_path: Path) -> None:
    text = notebook("%matplotlib inline\nx = 1", "!pip install einops\n", "y = 2\nname = input()\n%matplotlib qt")
    lines = text.split("\n")
    found = findings(tmp_path, {"a.ipynb": text}, command="jupyter nbconvert --execute a.ipynb")
    told = {each.rule: lines[(each.line or 0) - 1] for each in found}
    assert set(told) == {"asks-for-input", "graphical-display", "installs-at-run-time"}
    assert "input()" in told["asks-for-input"]
    assert "%matplotlib qt" in told["graphical-display"]
    assert "!pip install einops" in told["installs-at-run-time"]


def test_a_notebook_shows_its_pictures_in_itself(tmp_path: Path) -> None:
    text = notebook("import cv2\nimport matplotlib.pyplot as plt\nplt.show()\ncv2.imshow('x', 1)")
    found = findings(tmp_path, {"a.ipynb": text}, command="papermill a.ipynb {checkpoints}/b.ipynb")
    assert [each.what for each in found] == ["cv2.imshow() opens a window"]


def test_notebooks_that_no_command_names_are_left_out(tmp_path: Path) -> None:
    files: Files = {"a.ipynb": notebook("input()"), "train.py": "print(1)\n", "tests/test_x.py": "input()\n"}
    assert brief(findings(tmp_path, files)) == []


# ── silence ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_comment_silences_warnings_and_hints_but_no_errors(tmp_path: Path) -> None:
    text = (
        "import matplotlib.pyplot as plt, os, cv2\n"
        "plt.show()  # voy: ignore[graphical-display]\n"
        "os.cpu_count()  # all of them  # voy: ignore[many-small-files, cores-of-the-node]\n"
        "plt.show()  # voy: ignore[cores-of-the-node]\n"
        "print('# voy: ignore[graphical-display]'); plt.show()\n"
        "cv2.imshow('x', 1)  # voy: ignore[graphical-display]\n"
    )
    assert program(tmp_path, text) == [
        "error train.py:6 graphical-display",
        "warning train.py:4 graphical-display",
        "warning train.py:5 graphical-display",
    ]


def test_a_comment_in_a_script(tmp_path: Path) -> None:
    files: Files = {"run.sh": "#!/bin/bash\nconda activate x  # voy: ignore[conda-discouraged]\n"}
    assert brief(findings(tmp_path, files, command="bash run.sh")) == []


# ── accounts ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_accounts_in_files_that_git_keeps(tmp_path: Path) -> None:
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b"]
    files: Files = {
        "train.py": "print(1)\n",
        "old.sbatch": "#!/bin/bash\n#SBATCH --time=1:00\n#SBATCH --account=def-ada\n",
        "mine.sh": "#!/bin/bash\n#SBATCH -A def-ada\n",
        "form.sh": "#!/bin/bash\n#SBATCH --account=<account>\n#SBATCH --account=$ACCOUNT\n# --account=def-ada\n",
    }
    assert brief(findings(tmp_path, files)) == []
    subprocess.run([*git, "init", "--quiet"], check=True)
    subprocess.run([*git, "add", "old.sbatch", "form.sh"], check=True)
    assert brief(findings(tmp_path, files)) == ["hint old.sbatch:3 published-account"]
    subprocess.run([*git, "remote", "add", "origin", "https://example.org/x"], check=True)
    assert brief(findings(tmp_path, files)) == ["warning old.sbatch:3 published-account"]


# ── wheels ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_requirements_by_name_and_pin(tmp_path: Path) -> None:
    (tmp_path / "more.txt").write_text("scikit_learn>=1.0\n")
    (tmp_path / "requirements.txt").write_text(
        "# what we need\n--extra-index-url https://example.org\ntorch==2.1.0 ; python_version > '3.8'\n"
        "Ruamel.Yaml[x]~=1.0\n-r more.txt\n-e .\nnumpy\nodd == 1.*\nmine @ https://example.org/mine.whl\n"
        "https://example.org/other.whl\n"
    )
    (tmp_path / "pyproject.toml").write_text('[project]\ndependencies = [\n  "numpy",\n  "einops===0.7",\n]\n')
    found = {(each.name, each.version, each.file, each.line) for each in requirements_of(tmp_path)}
    assert found == {
        ("torch", "2.1.0", "requirements.txt", 3),
        ("ruamel-yaml", None, "requirements.txt", 4),
        ("scikit-learn", None, "more.txt", 1),
        ("numpy", None, "requirements.txt", 7),
        ("odd", None, "requirements.txt", 8),
        ("mine", None, "requirements.txt", 9),
        ("einops", "0.7", "pyproject.toml", 4),
    }


@pytest.mark.parametrize("text", ["", "# x", "-e .", "./x", "/x", "--no-index", "https://x/y.whl", "git+https://x"])
def test_lines_that_require_nothing_by_name(text: str) -> None:
    assert requirement_in(text, "requirements.txt", 1) is None


def test_a_requirements_file_that_includes_itself(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("-r requirements.txt\nnumpy\n")
    assert [each.name for each in requirements_of(tmp_path)] == ["numpy"]


def test_missing_wheels_stand_where_they_are_asked_for(tmp_path: Path) -> None:
    files: Files = {"train.py": "print(1)\n", "requirements.txt": "numpy\nrare_thing==1.2\n"}
    assert brief(findings(tmp_path, files)) == []
    (found,) = findings(tmp_path, files, known=Known(missing_wheels=("rare-thing==1.2",)))
    assert brief((found,)) == ["warning requirements.txt:2 missing-wheels"]
    assert found.what == "strict has no wheel for rare-thing==1.2"


# ── very many files ──────────────────────────────────────────────────────────────────────────────────────────────────


def fill(folder: Path, files: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(files):
        (folder / str(number)).touch()


def test_the_folder_that_holds_them_is_named(tmp_path: Path) -> None:
    for number in range(20):
        fill(tmp_path / "data" / "train" / f"class{number}", 10)
    fill(tmp_path / "data" / "test", 5)
    fill(tmp_path / "src", 3)
    (crowd,) = find_crowds(tmp_path, many=100)
    assert (Path(crowd.path), crowd.files, crowd.folders) == (tmp_path / "data" / "train", 200, 20)
    assert not crowd.at_least
    assert [Path(each.path).name for each in find_crowds(tmp_path, many=1_000)] == []


def test_two_crowds_are_two(tmp_path: Path) -> None:
    fill(tmp_path / "data" / "a", 150)
    fill(tmp_path / "data" / "b", 150)
    assert sorted(Path(each.path).name for each in find_crowds(tmp_path, many=100)) == ["a", "b"]


def test_folders_of_tools_and_links_are_not_counted(tmp_path: Path) -> None:
    for name in (".git/objects", "node_modules/x", ".venv/lib", "env/lib"):
        fill(tmp_path / name, 150)
    (tmp_path / "env" / "pyvenv.cfg").touch()
    fill(tmp_path.parent / "elsewhere", 150)
    (tmp_path / "link").symlink_to(tmp_path.parent / "elsewhere")
    (tmp_path / "loop").symlink_to(tmp_path)
    assert find_crowds(tmp_path, many=100) == []
    (crowd,) = find_crowds(tmp_path, [str(tmp_path / "link")], many=100)
    assert crowd.files == 150


def test_counting_ends_when_people_would_stop_waiting(tmp_path: Path) -> None:
    for number in range(30):
        fill(tmp_path / "data" / str(number), 10)
    found = find_crowds(tmp_path, many=1, patience=-1)
    assert all(crowd.at_least for crowd in found)
    assert sum(crowd.files for crowd in found) < 300


def test_many_files_are_told_with_their_share(tmp_path: Path) -> None:
    fill(tmp_path / "data" / "images", 10_500)
    (found,) = findings(tmp_path, {"train.py": "print(1)\n"})
    assert brief((found,)) == ["warning data/images many-small-files"]
    assert found.what == "data/images holds 10,500 files, 1 % of the 1,000,000 that scratch allows"
    assert "`voy data pack data/images`" in found.fix
    quota = Quota(place="scratch", files=995_000, file_limit=1_000_000)
    (found,) = findings(tmp_path, {"train.py": "print(1)\n"}, known=Known(quotas=(quota,)))
    assert "more than are left of the 1,000,000" in found.what
    (found,) = findings(tmp_path, {"train.py": "print(1)\n"}, site=MACHINE)
    assert found.what == "data/images holds 10,500 files"


def test_a_quota_that_nobody_knows_is_not_guessed(tmp_path: Path) -> None:
    assert replace(STRICT, name="x").storage.place("scratch") is not None
    assert MACHINE.storage.place("scratch") is None
