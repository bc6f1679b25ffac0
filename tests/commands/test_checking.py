"""Before anything is made: the program is there, and the job will find it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.place import Place

BIN = "/usr/bin:/bin"


def notes(local: Place, *words: str, **environment: str) -> list[str]:
    return list(json.loads(local.voy("plan", "--json", "--", *words, code=0, **environment).stdout)["notes"])


def tool(folder: Path, name: str, text: str = "#!/bin/sh\necho found\n") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
    (folder / name).chmod(0o755)
    return folder


def bare_machine(local: Place, *programs: str) -> str:
    """A PATH with these programs and no others."""
    folder = local.root / "bare"
    folder.mkdir()
    for name in programs:
        (folder / name).symlink_to(f"/usr/bin/{name}")
    return str(folder)


# ── the job's PATH ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_program_that_only_this_shell_finds_is_pointed_out(local: Place) -> None:
    local.write("train.py", "print(1)")
    mine = tool(local.root / "mine", "my-tool")
    (note,) = notes(local, "my-tool", PATH=f"{mine}:{local.environment['PATH']}")
    assert note.startswith(f"the job does not take this shell's PATH: `my-tool` is {mine}/my-tool here")
    assert "[env] venv or modules" in note
    answer = local.voy("run", "--", "my-tool", code=1, PATH=f"{mine}:{local.environment['PATH']}")
    assert "note: the job does not take this shell's PATH" in answer.stderr


def test_what_the_login_shell_finds_is_no_matter(local: Place) -> None:
    local.write("train.py", "print(1)")
    mine = tool(local.root / "mine", "my-tool")
    (local.home / ".bash_profile").write_text(f'export PATH="{mine}:$PATH"\n')
    path = f"{mine}:{local.environment['PATH']}"
    assert notes(local, "my-tool", PATH=path) == []
    assert "found" in local.voy("run", "--", "my-tool", PATH=path).stdout


def test_a_profile_that_hangs_is_not_waited_for(local: Place) -> None:
    local.write("train.py", "print(1)")
    mine = tool(local.root / "mine", "my-tool")
    (local.home / ".bash_profile").write_text("sleep 60\n")
    assert notes(local, "my-tool", PATH=f"{mine}:{local.environment['PATH']}") == []


def test_programs_of_the_system_of_the_environment_and_of_modules_are_no_matter(local: Place) -> None:
    local.write("train.py", "print(1)")
    assert notes(local, "ls") == []
    assert notes(local, "python", "train.py") == []
    mine = tool(local.root / "mine", "my-tool")
    local.write("voyageur.toml", f"[env.variables]\nPATH = '{mine}:/usr/bin:/bin'\n")
    assert notes(local, "my-tool", PATH=f"{mine}:{local.environment['PATH']}") == []


# ── a machine without python ─────────────────────────────────────────────────────────────────────────────────────────


def test_the_projects_environment_brings_python(local: Place) -> None:
    local.write("train.py", "print('in the venv')")
    bare = bare_machine(local, "bash", "env")
    environment = {"PATH": bare, "VIRTUAL_ENV": ""}
    answer = local.voy("plan", "--", "python", "train.py", code=2, **environment)
    assert "there is no command `python` on this machine" in answer.stderr
    assert "did you mean `python`" not in answer.stderr
    tool(local.project / ".venv" / "bin", "python", '#!/bin/sh\nexec /usr/bin/python3 "$@"\n')
    local.write(".venv/bin/activate", f'export PATH="{local.project}/.venv/bin:$PATH"\n')
    assert notes(local, "python", "train.py", **environment) == []


def test_only_what_is_there_is_suggested(local: Place) -> None:
    local.write("train.py", "print(1)")
    bare = bare_machine(local, "bash", "perl")
    answer = local.voy("plan", "--", "bsah", code=2, PATH=bare, VIRTUAL_ENV="")
    assert "did you mean `bash`?" in answer.stderr
    answer = local.voy("plan", "--", "julai", code=2, PATH=bare, VIRTUAL_ENV="")
    assert "did you mean" not in answer.stderr


# ── files ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("target", ["src", "ABSOLUTE", "OUTSIDE"])
def test_a_program_behind_a_link_to_a_folder(local: Place, target: str) -> None:
    local.write("src/go.py", "print('went')")
    outside = local.root / "outside"
    outside.mkdir()
    (outside / "go.py").write_text("print('went')")
    (local.project / "lnk").symlink_to({"ABSOLUTE": local.project / "src", "OUTSIDE": outside}.get(target, target))
    assert "went" in local.voy("run", "--", "python", "lnk/go.py").stdout
    assert "there is no lnk/gone.py" in local.voy("plan", "--", "python", "lnk/gone.py", code=2).stderr


def test_a_program_that_may_not_be_executed_is_found_before_the_run(local: Place) -> None:
    path = local.write("train.py", "#!/usr/bin/env python3\nprint('ran')")
    answer = local.voy("plan", "--", "./train.py", code=2)
    assert answer.stderr.startswith("error: ./train.py may not be executed")
    assert "`chmod +x ./train.py`" in answer.stderr
    path.chmod(0o755)
    assert "ran" in local.voy("run", "--", "./train.py").stdout


def test_a_whole_path_that_is_not_there_has_nothing_to_do_with_git(local: Place) -> None:
    local.write("train.py", "print(1)")
    answer = local.voy("plan", "--", "/nope/x", code=2)
    assert answer.stderr.startswith("error: there is no file /nope/x")
    assert "git" not in answer.stderr
    assert "there is no file /nope/x.py" in local.voy("plan", "--", "python", "/nope/x.py", code=2).stderr
    assert "narval" in local.voy("plan", "--on", "narval", "-a", "x", "--", "/nope/x").stdout


# ── what is said about the code ──────────────────────────────────────────────────────────────────────────────────────


def test_gits_own_words_reach_the_plan(local: Place) -> None:
    local.write("train.py", "print(1)")
    (local.project / ".git").mkdir()
    words = "git cannot be asked, so files that it ignores travel, too: fatal: not a git repository"
    assert f"note: {words}" in local.voy("plan", "--", "python", "train.py").stdout
    assert f"note: {words}" in local.voy("plan", "--files", "--", "python", "train.py").stdout


def test_a_pattern_that_names_nothing_is_said_in_the_plan(local: Place) -> None:
    local.write("train.py", "print(1)")
    local.write("voyageur.toml", "[snapshot]\nexclude = ['dtaa']\n")
    assert notes(local, "python", "train.py") == ["snapshot.exclude: `dtaa` matches no file of the project"]


def test_a_variable_that_looks_like_a_secret_is_said_in_the_plan(local: Place) -> None:
    local.write("train.py", "print(1)")
    local.write("voyageur.toml", "[env.variables]\nWANDB_API_KEY = 'k3y'\nA = true\n")
    plan = local.voy("plan", "--", "python", "train.py").stdout
    assert "note: WANDB_API_KEY (voyageur.toml:1) looks like a secret" in plan
    assert 'env.secrets = ["WANDB_API_KEY"]' in plan
    assert "export A=true" in plan


def test_a_project_in_a_folder_of_somebody_else(local: Place) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    local.write("train.py", "print(1)")
    os.system(f"git init -q {local.project} && chown -R 12345 {local.project}")
    (note,) = notes(local, "python", "train.py")
    assert "dubious ownership" in note
