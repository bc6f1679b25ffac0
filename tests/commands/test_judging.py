"""Rules where people meet them: a plan shows what is broken, a submit refuses errors, `--ignore` takes a rule off."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.place import Place
from tests.record.folders import SITE, add_attempt, add_marker, make_run, planned
from voyageur.commands import session
from voyageur.commands.knowing import known_of
from voyageur.plan import Surroundings
from voyageur.record import Entry, Run
from voyageur.rules import Known
from voyageur.units import Duration, Size

pytest_plugins = ["tests.golden"]
Golden = Callable[[str, str], None]

PROGRAM = ("--", "python", "train.py")
LONESTAR = ("--on", "lonestar6", "-a", "prof")


@pytest.fixture
def project(local: Place) -> Place:
    local.write("train.py", "print(1)")
    return local


def findings(place: Place, *words: str) -> list[dict[str, Any]]:
    return list(json.loads(place.voy("plan", "--json", *words, *PROGRAM).stdout)["findings"])


def test_a_plan_shows_what_it_breaks_and_goes_on(project: Place) -> None:
    (found,) = findings(project, *LONESTAR, "--memory", "4G")
    assert (found["rule"], found["level"]) == ("forbidden-flag", "error")
    assert found["fix"] == "leave the memory out"
    out = project.voy("plan", *LONESTAR, "--memory", "4G", *PROGRAM).stdout
    assert "error: lonestar6 takes no `--mem=4096M` [forbidden-flag]" in out
    assert "#SBATCH" in out


def test_a_plain_plan_says_nothing(project: Place) -> None:
    assert findings(project, *LONESTAR) == []


def test_submit_refuses_an_error_and_makes_nothing(project: Place, golden: Golden) -> None:
    answer = project.voy("submit", *LONESTAR, "--memory", "4G", *PROGRAM, code=2)
    golden("one-error.txt", answer.stderr)
    assert answer.stdout == ""
    assert list(project.scratch.iterdir()) == []


def test_submit_tells_all_errors_at_once(project: Place, golden: Golden) -> None:
    words = ("--on", "killarney", "-a", "def-prof", "-t", "3h", "-G", "l40s", "--", "bash", "-c", "module; sbatch x")
    project.write("voyageur.toml", "[env]\nmodules = ['arch/avx512']\n[sites.killarney]\n")
    answer = project.voy("submit", "--on", "lumi", "-g", "1", "-p", "small-g", "-a", "def-prof", *_CUDA, code=2)
    golden("several-errors.txt", answer.stderr)
    assert "account-form" in project.voy("submit", *words, code=2).stderr


_CUDA = ("--", "singularity", "exec", "--nv", "a.sif", "./a")


def test_ignored_by_flag_or_for_the_project_and_still_mentioned(project: Place) -> None:
    words = ("--on", "killarney", "-a", "def-prof", "-t", "2m")
    assert {found["rule"] for found in findings(project, *words)} == {"account-form", "time-short"}
    assert findings(project, *words, "--ignore", "account-form,time-short") == []
    assert findings(project, *words, "--ignore", "account-form", "--ignore", "time-short") == []
    project.write("voyageur.toml", "[check]\nignore = ['time-short']\n")
    assert [found["rule"] for found in findings(project, *words)] == ["account-form"]
    out = project.voy("plan", *words, "--ignore", "account-form", *PROGRAM).stdout
    assert "\nignored: account-form, time-short\n" in out


@pytest.mark.parametrize(
    ("typed", "written", "told"),
    [
        (("--ignore", "time-teir"), "", "given by --ignore\n\nhint: did you mean `time-tier`?"),
        ((), "check.ignore = ['zzz']\n", "given by voyageur.toml:1\n\nhint: each finding names its rule in brackets"),
    ],
)
def test_a_rule_that_is_none(project: Place, typed: tuple[str, ...], written: str, told: str) -> None:
    project.write("voyageur.toml", written)
    answer = project.voy("plan", *typed, *PROGRAM, code=2)
    assert answer.stderr.startswith("error: there is no rule `")
    assert told in answer.stderr


def test_a_run_on_a_login_node_is_warned_of(project: Place) -> None:
    tools = project.root / "tools"
    tools.mkdir()
    (tools / "sbatch").write_text("#!/bin/sh\n")
    (tools / "sbatch").chmod(0o755)
    path = f"{tools}:{project.environment['PATH']}"
    answer = project.voy("run", "-t", "1m", *PROGRAM, PATH=path, CC_CLUSTER="narval")
    assert "warning: this is a login node of narval, with at most 10m of CPU time and 4G of memory" in answer.stderr
    assert "`voy submit --on narval` [login-node]" in answer.stderr
    inside = project.voy("run", "-t", "1m", *PROGRAM, PATH=path, CC_CLUSTER="narval", SLURM_JOB_ID="7")
    assert "login node" not in inside.stderr


# ── what is known ────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def remembering(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(session, "state_folder", lambda: tmp_path / "state")
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def known(scratch: Path, token: str = "ffffffffffff") -> Known:
    plan, _ = planned(scratch, token=token)
    return known_of(SITE, plan, Surroundings(scratch=str(scratch)))


def remember(run: Run, created: float = 0.0, site: str = "slurm", state: str = "done", ended: float = 7200.0) -> None:
    entry = Entry(
        folder=str(run.folder), run=run.id, job_name=run.record.job_name, project=run.record.project, site=site,
        engine="slurm", command="c", created=created, state=state, job="7", started=0.0, ended=ended, final=True,
    )  # fmt: skip
    session.index().add([entry])


def done_run(scratch: Path, token: str, **usage: Any) -> Run:
    return add_marker(add_attempt(make_run(scratch, token=token)), token=token, usage=usage)


def test_done_runs_of_the_same_experiment_are_remembered(remembering: Path) -> None:
    for number in range(7):
        run = done_run(remembering, f"{number}" * 12, peak_memory=2**30, cpu_seconds=9.5)
        remember(run, created=float(number))
    history = known(remembering).history
    assert len(history) == 5
    assert history[0].run == "train-6666"
    assert (history[0].took, history[0].peak_memory, history[0].cpu_seconds) == (Duration(7200), Size(2**30), 9.5)


@pytest.mark.parametrize("change", [{"site": "narval"}, {"state": "failed"}])
def test_runs_that_failed_or_ran_elsewhere_tell_nothing(remembering: Path, change: dict[str, str]) -> None:
    remember(done_run(remembering, "0" * 12), **change)  # type: ignore[arg-type] # texts, all of them
    assert known(remembering).history == ()


def test_a_run_whose_folder_is_gone_tells_nothing(remembering: Path) -> None:
    run = done_run(remembering, "0" * 12)
    remember(run)
    for file in run.folder.iterdir():
        file.unlink()
    assert known(remembering).history == ()


def test_submissions_of_the_last_minutes_are_counted(remembering: Path) -> None:
    import time

    for number in range(3):
        remember(make_run(remembering, token=f"{number}" * 12), created=time.time() - 5)
    remember(make_run(remembering, token="9" * 12), created=time.time() - 5000)
    assert known(remembering).submitted_lately == 3


def test_a_run_whose_answer_was_lost_is_known_until_it_is_found(remembering: Path) -> None:
    run = make_run(remembering)
    assert known(remembering).unanswered == ()
    run.note("answer lost", reason="Socket timed out")
    assert known(remembering).unanswered == (run.id,)
    run.note("submitted", job="7")
    assert known(remembering).unanswered == ()


def test_of_another_machine_nothing_is_known(remembering: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "is_here", lambda site: False)
    told = known(remembering)
    assert (told.here, told.environment, told.typed_in) == (False, {}, None)


# ── kept without anybody's doing ─────────────────────────────────────────────────────────────────────────────────────

SBATCH = """#!/bin/bash
# Says where it was typed, and whether the folder of the log was there by then.
log=$(sed -n 's/^#SBATCH --output=\\([^ ]*\\).*/\\1/p' "${@: -2:1}")
echo "$PWD" > "$HOME/typed-in"
[ -d "$(dirname "$log")" ] && echo "$log" > "$HOME/log-folder-was-there"
env | grep '^SBATCH_' > "$HOME/variables"
echo 7
"""


def test_sbatch_is_typed_in_the_run_s_folder_which_is_there_before(project: Place) -> None:
    """And it obeys the script: no SBATCH_* of the shell, which it would obey first, is handed on."""
    tools = project.root / "tools"
    tools.mkdir()
    (tools / "sbatch").write_text(SBATCH)
    (tools / "sbatch").chmod(0o755)
    path = f"{tools}:{project.environment['PATH']}"
    run = project.voy("submit", *LONESTAR, *PROGRAM, PATH=path, SBATCH_ACCOUNT="another").stdout.strip()
    folder = project.folder(run)
    assert (project.home / "typed-in").read_text().strip() == str(folder)
    assert Path((project.home / "log-folder-was-there").read_text().strip()).parent == folder
    assert (project.home / "variables").read_text() == ""
