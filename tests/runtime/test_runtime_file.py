"""runtime.pyz: one file that any Python from 3.8 on runs, with nothing installed."""

import ast
import glob
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from voyageur.record.create import runtime_zip
from voyageur.runtime.folder import read_events, read_marker

TOKEN = "0123456789ab"


def oldest_python() -> str | None:
    found = sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/3.8*/bin/python")))
    named = shutil.which("python3.8")
    works = [path for path in [*found, *([named] if named else [])] if _works(path)]
    return works[0] if works else None


def _works(path: str) -> bool:
    return subprocess.run([path, "-c", "pass"], capture_output=True, check=False).returncode == 0


PYTHONS = [sys.executable, *([old] if (old := oldest_python()) else [])]


def prepared(folder: Path) -> dict[str, str]:
    """A run's folder as the job script finds it, and the variables that the script would set."""
    run = folder / "run"
    run.mkdir()
    (run / "runtime.pyz").write_bytes(runtime_zip())
    (run / "run.json").write_text("{}")
    (folder / "disk").mkdir()
    with tarfile.open(folder / "code.tar", "w") as tar:
        content = b"print('frozen code')\n"
        member = tarfile.TarInfo("train.py")
        member.size = len(content)
        tar.addfile(member, io.BytesIO(content))
    return {
        "PATH": "/usr/bin:/bin",
        "VOY_RUN": "train-0123",
        "VOY_TOKEN": TOKEN,
        "VOY_RUN_DIR": str(run),
        "VOY_SUBMISSION": "s1",
        "VOY_CODE": str(folder / "code.tar"),
        "VOY_CODE_SHA256": hashlib.sha256((folder / "code.tar").read_bytes()).hexdigest(),
        "VOY_TMP_BASE": str(folder / "disk"),
        "VOY_CHECKPOINTS": str(folder),
        "scratch_dir": str(folder),
        "VOY_STOP_FILE": str(run / "stop"),
        "SLURM_JOB_ID": "7",
    }


def supervise(python: str, around: dict[str, str], *command: str) -> "subprocess.CompletedProcess[str]":
    argv = [python, f"{around['VOY_RUN_DIR']}/runtime.pyz", "supervise", "--", *command]
    return subprocess.run(argv, env=around, capture_output=True, text=True, timeout=30, check=False)


@pytest.mark.parametrize("python", PYTHONS)
def test_a_run_from_its_claim_to_its_marker(tmp_path: Path, python: str) -> None:
    around = prepared(tmp_path)
    answer = supervise(python, around, python, "train.py")
    assert (answer.returncode, answer.stdout) == (0, "frozen code\n"), answer.stderr
    marker = read_marker(around["VOY_RUN_DIR"], TOKEN)
    assert marker is not None
    assert (marker["end"], marker["exit_code"], marker["attempt"], marker["job"]) == ("done", 0, 1, "7")
    assert [event["event"] for event in read_events(around["VOY_RUN_DIR"])] == ["attempt started", "attempt ended"]
    assert list((tmp_path / "disk").iterdir()) == []


@pytest.mark.parametrize("python", PYTHONS)
def test_the_program_finds_voyageur_job_with_nothing_installed(tmp_path: Path, python: str) -> None:
    text = "import os; from voyageur.job import *; print(run, attempt, should_stop(), os.getcwd() == tmp + '/code')"
    answer = supervise(python, prepared(tmp_path), python, "-c", text)
    assert answer.stdout == "train-0123 1 False True\n", answer.stderr


@pytest.mark.parametrize(
    ("command", "end", "code", "signum"),
    [
        (("sh", "-c", "exit 3"), "failed", 3, 0),
        (("sh", "-c", "kill -9 $$"), "failed", 0, 9),
        (("no-such-command",), "failed", 127, 0),
    ],
)
def test_how_it_ended_is_said_truly(tmp_path: Path, command: tuple[str, ...], end: str, code: int, signum: int) -> None:
    around = prepared(tmp_path)
    answer = supervise(sys.executable, around, *command)
    marker = read_marker(around["VOY_RUN_DIR"], TOKEN)
    assert marker is not None
    assert (marker["end"], marker["exit_code"], marker["signal"]) == (end, code, signum)
    assert answer.returncode == (code or 128 + signum)
    assert list((tmp_path / "disk").iterdir()) == []


def test_a_command_whose_name_is_no_utf8_and_does_not_exist_still_ends_the_run(tmp_path: Path) -> None:
    around = prepared(tmp_path)
    supervise(sys.executable, around, "no-such-\udcff")
    marker = read_marker(around["VOY_RUN_DIR"], TOKEN)
    assert marker is not None
    assert marker["end"] == "failed"


def test_a_folder_in_the_code_that_is_not_there_is_not_called_a_missing_program(tmp_path: Path) -> None:
    around = {**prepared(tmp_path), "VOY_START_IN": "only/empty/folders"}
    supervise(sys.executable, around, "true")
    marker = read_marker(around["VOY_RUN_DIR"], TOKEN)
    assert marker is not None
    assert "true cannot be started" not in marker["problem"]


def test_a_duplicate_leaves_with_0_and_does_nothing(tmp_path: Path) -> None:
    around = prepared(tmp_path)
    supervise(sys.executable, around, "true")
    answer = supervise(sys.executable, {**around, "SLURM_JOB_ID": "8"}, "touch", str(tmp_path / "twice"))
    assert answer.returncode == 0
    assert "7 holds attempt 1; this job leaves without doing anything" in answer.stderr
    assert not (tmp_path / "twice").exists()


def test_secrets_reach_the_program_and_are_gone_at_the_end(tmp_path: Path) -> None:
    around = prepared(tmp_path)
    secrets = Path(around["VOY_RUN_DIR"]) / "secrets.json"
    secrets.write_text(json.dumps({"HF_TOKEN": "hf_canary"}))
    answer = supervise(sys.executable, around, "sh", "-c", "echo $HF_TOKEN | wc -c")
    assert answer.stdout.strip() == "10"
    left = [file.name for file in Path(around["VOY_RUN_DIR"]).iterdir() if b"hf_canary" in file.read_bytes()]
    assert left == []


@pytest.mark.parametrize("arguments", [[], ["supervise"], ["supervise", "true"], ["zebra", "--", "true"]])
def test_wrong_words_are_refused(tmp_path: Path, arguments: list[str]) -> None:
    around = prepared(tmp_path)
    argv = [sys.executable, f"{around['VOY_RUN_DIR']}/runtime.pyz", *arguments]
    assert subprocess.run(argv, env=around, capture_output=True, check=False).returncode == 2


def test_all_that_is_in_it_is_python_3_8() -> None:
    with zipfile.ZipFile(io.BytesIO(runtime_zip())) as archive:
        assert {"__main__.py", "voyageur/job/__init__.py", "voyageur/runtime/supervisor.py"} <= set(archive.namelist())
        for name in archive.namelist():
            ast.parse(archive.read(name).decode(), filename=name, feature_version=(3, 8))


def test_the_same_runtime_is_the_same_bytes() -> None:
    first = runtime_zip()
    runtime_zip.cache_clear()
    assert runtime_zip() == first
