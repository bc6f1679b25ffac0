"""Which files the command reaches: those count; what nobody imports does not."""

from pathlib import Path

import pytest

from tests.readiness.projects import brief, findings, write
from voyageur.readiness.reach import reach

ASKS = "input()\n"


def reached(root: Path, files: dict[str, str | bytes], *command: str, start_in: str = ".") -> set[str]:
    write(root, files)
    names = [str(path.relative_to(root)) for path in sorted(root.rglob("*")) if path.is_file()]
    return {module.file for module in reach(root, names, command, start_in).modules}


@pytest.mark.parametrize(
    ("text", "file"),
    [
        ("import a", "a.py"),
        ("import pkg.a", "pkg/a.py"),
        ("import pkg.a", "src/pkg/a.py"),
        ("from pkg import a", "pkg/a.py"),
        ("from pkg.a import x as y", "pkg/a.py"),
        ("from pkg import *", "pkg/__init__.py"),
        ("from . import a", "a.py"),
        ("from .pkg.a import x", "pkg/a.py"),
        ("def f():\n    import a", "a.py"),
        ("try:\n    import a\nexcept ImportError:\n    pass", "a.py"),
        ("import importlib\nimportlib.import_module('pkg.a')", "pkg/a.py"),
        ("import importlib\nname = 'x'\nimportlib.import_module(f'pkg.{name}')", "pkg/a.py"),
        ("import subprocess, sys\nsubprocess.run([sys.executable, 'tools/a.py'])", "tools/a.py"),
        ("import os\nos.system('python -m pkg.a')", "pkg/a.py"),
        ("import os\nos.system('bash a.sh')", "a.sh"),
    ],
)
def test_what_a_program_imports_or_starts(text: str, file: str, tmp_path: Path) -> None:
    assert file in reached(tmp_path, {"train.py": text, file: "x = 1\n", "b.py": ASKS}, "python", "train.py")
    assert "b.py" not in reached(tmp_path, {}, "python", "train.py")


@pytest.mark.parametrize(
    ("command", "file"),
    [
        ("python -u train.py --x", "train.py"),
        ("python -m pkg.train", "pkg/train.py"),
        ("python -m pkg", "pkg/__main__.py"),
        ("torchrun --nproc_per_node 4 train.py", "train.py"),
        ("torchrun --nproc_per_node=4 -m pkg.train", "pkg/train.py"),
        ("accelerate launch --num_processes 4 train.py", "train.py"),
        ("python -m torch.distributed.run --nnodes 2 train.py", "train.py"),
        ("apptainer exec image.sif python train.py", "train.py"),
        ("bash run.sh", "train.py"),
        ("./run.sh", "train.py"),
        ("./train", "train"),
        ("my-tool --x", "pkg/train.py"),
    ],
)
def test_programs_that_commands_start(command: str, file: str, tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "train.py": "x = 1\n",
        "train": "#!/usr/bin/env python3\nx = 1\n",
        "pkg/__init__.py": "",
        "pkg/train.py": "x = 1\n",
        "pkg/__main__.py": "x = 1\n",
        "run.sh": "#!/bin/bash\nset -e\nif true; then\n  srun -n 4 python train.py --x \\\n    --y\nfi\n",
        "pyproject.toml": '[project.scripts]\nmy-tool = "pkg.train:main"\n',
        "other.py": ASKS,
    }
    found = reached(tmp_path, files, *command.split())
    assert file in found
    assert "other.py" not in found


def test_a_command_inside_a_shell(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"train.py": "x = 1\n"}
    assert reached(tmp_path, files, "bash", "-c", "cd . && python train.py | tee log") == {"train.py"}


def test_in_a_subfolder(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"src/train.py": "import a\n", "src/a.py": "", "train.py": ASKS}
    assert reached(tmp_path, files, "python", "train.py", start_in="src") == {"src/train.py", "src/a.py"}


def test_circles_of_imports_end(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"train.py": "import a\n", "a.py": "import b\n", "b.py": "import a, train\n"}
    assert reached(tmp_path, files, "python", "train.py") == {"train.py", "a.py", "b.py"}


def test_pythons_own_modules_are_not_the_projects(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "train.py": "import queue, json.decoder\n",
        "lib/queue.py": ASKS,
        "x/json.py": ASKS,
    }
    assert reached(tmp_path, files, "python", "train.py") == {"train.py"}


def test_findings_in_modules_count_as_they_are(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"train.py": "from pkg.a import f\nf()\n", "pkg/a.py": "def f():\n    input()\n"}
    assert brief(findings(tmp_path, files)) == ["error pkg/a.py:2 asks-for-input"]


def test_where_the_program_cannot_be_told_all_is_looked_at_and_blamed_less(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"a.py": ASKS, "tests/test_a.py": ASKS, "docs/conf.py": ASKS, "setup.py": ASKS}
    assert brief(findings(tmp_path, files, command="make all")) == ["warning a.py:1 asks-for-input"]


def test_many_files_are_read_by_several_processes_alike(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {f"m{number}.py": "x = [1, 2, 3]\n" * 700 + ASKS for number in range(80)}
    files["train.py"] = "".join(f"import m{number}\n" for number in range(80))
    found = findings(tmp_path, files)
    assert len(found) == 80
    assert {each.line for each in found} == {701}


def test_a_machine_that_gives_no_more_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise BlockingIOError("Resource temporarily unavailable")

    monkeypatch.setattr("voyageur.readiness.readers.ProcessPoolExecutor", refuse)
    test_many_files_are_read_by_several_processes_alike(tmp_path)


# ── what is surely called ────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def f():\n    input()\nf()\n", ["error train.py:2 asks-for-input"]),
        ("def f():\n    input()\nif x:\n    f()\n", ["warning train.py:2 asks-for-input"]),
        ("def f():\n    input()\ndef g():\n    f()\n", []),
        ("def f():\n    input()\nif __name__ == '__main__':\n    f()\n", ["error train.py:2 asks-for-input"]),
        ("class A:\n    def f(self):\n        input()\nA().f()\n", ["error train.py:3 asks-for-input"]),
        ("class A:\n    def f(self):\n        input()\n", []),
        ("import cv2\ndef imread():\n    input()\ncv2.imread('x')\n", []),
        ("rank = 0\nif rank == 0:\n    input()\n", ["error train.py:3 asks-for-input"]),
        ("@app.command()\ndef f():\n    input()\n", ["warning train.py:3 asks-for-input"]),
        ("@safely\ndef f():\n    input()\nf()\n", ["warning train.py:3 asks-for-input"]),
        ("import torch\n@torch.no_grad()\ndef f():\n    input()\nf()\n", ["error train.py:4 asks-for-input"]),
        ("def f():\n    def g():\n        input()\n    g()\nf()\n", ["warning train.py:3 asks-for-input"]),
        ("def f():\n    input()\nprint(f)\n", ["warning train.py:2 asks-for-input"]),
        ("class A:\n    def f(self):\n        input()\nclass B(A): pass\nB()\n", ["error train.py:3 asks-for-input"]),
        ("try:\n    input()\nexcept KeyboardInterrupt:\n    pass\n", ["error train.py:2 asks-for-input"]),
        ("try:\n    input()\nexcept EOFError:\n    raise\n", ["error train.py:2 asks-for-input"]),
        ("try:\n    input()\nexcept EOFError:\n    pass\n", ["warning train.py:2 asks-for-input"]),
    ],
)
def test_only_what_is_surely_come_to_is_an_error(text: str, expected: list[str], tmp_path: Path) -> None:
    assert brief(findings(tmp_path, {"train.py": text})) == expected


def test_what_a_module_does_when_it_is_started_is_not_done_when_it_is_imported(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "train.py": "import a\na.f()\n",
        "a.py": "def f(): pass\ndef g():\n    input()\nif __name__ == '__main__':\n    g()\n    input()\n",
    }
    assert brief(findings(tmp_path, files)) == []
    assert len(findings(tmp_path, files, command="python a.py")) == 2


def test_an_installed_command_calls_its_function(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "pyproject.toml": '[project.scripts]\nmy-tool = "tool:go"\n',
        "tool.py": "def go():\n    input()\ndef other():\n    input()\n",
    }
    assert brief(findings(tmp_path, files, command="my-tool")) == ["error tool.py:2 asks-for-input"]
