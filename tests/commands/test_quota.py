"""`voy quota`, with a site's own commands on the PATH that say what the real ones said."""

from __future__ import annotations

import json
import os
import time
from typing import Any

import pytest

from tests.place import Place
from tests.site_commands import SiteCommands, recorded
from voyageur.hosts import Here
from voyageur.questions.quota import ask, look
from voyageur.site import Site, load_profile
from voyageur.site.facts import Storage
from voyageur.units import Duration

NARVAL = "--on=narval"


@pytest.fixture
def tools(local: Place, site_commands: SiteCommands) -> SiteCommands:
    local.environment["PATH"] = site_commands.path(local.environment["PATH"])
    local.environment["HOME"] = "/home/ada"
    return site_commands


def shown(place: Place, *arguments: str) -> dict[str, Any]:
    return dict(json.loads(place.voy("quota", "--json", *arguments).stdout))


def test_the_worst_comes_first_with_what_the_profile_knows_of_it(local: Place, tools: SiteCommands) -> None:
    tools.say("diskusage_report", recorded("diskusage-report-tamia.txt"))
    answer = local.voy("quota", NARVAL)
    head, first, second = answer.stdout.splitlines()
    assert head.split() == ["PLACE", "OWNER", "BYTES", "FULL", "FILES", "FULL", "NOTE"]
    assert second.startswith("/home") and "208,000 of 250,000" in second and "83 %" in second
    assert first.startswith("/scratch") and "148G of 500G" in first and "60 days" in first
    assert answer.stderr == ""


def test_what_is_nearly_full_is_said(local: Place, tools: SiteCommands) -> None:
    tools.say("diskusage_report", recorded("diskusage-report-tamia.txt").replace("208K/ 250K", "247K/ 250K"))
    answer = local.voy("quota", NARVAL)
    assert answer.stderr == "note: /home has 99 % of its files in use: jobs that write there may fail\n"


def test_as_json(local: Place, tools: SiteCommands) -> None:
    tools.say("diskusage_report", recorded("diskusage-report-tamia.txt"))
    told = shown(local, NARVAL)
    scratch, home = told["quotas"]
    assert (scratch["place"], scratch["used"], scratch["limit"]) == ("/scratch", 148 * 1024**3, 500 * 1024**3)
    assert (scratch["purge_days"], scratch["source"]) == (60, "diskusage_report")
    assert (home["files"], home["file_limit"], home["jobs"]) == (208_000, 250_000, "discouraged")


def test_an_old_answer_says_so(local: Place, tools: SiteCommands) -> None:
    """CSCS; its `quota` is a program of its own."""
    tools.say("quota", recorded("quota-cscs.txt"), arguments=["-s"])
    assert "as of 2025-05-21 11:10:02" in local.voy("quota", "--on=local").stdout


def test_an_exit_code_is_not_an_answer(local: Place, tools: SiteCommands) -> None:
    """That of NERSC's showquota is the number of places that are full."""
    tools.say("showquota", recorded("showquota.json"), arguments=["-J"], code=2)
    assert [entry["place"] for entry in shown(local, "--on=local")["quotas"]] == ["home", "pscratch"]


def test_an_answer_that_nobody_understands_is_shown_as_it_is(local: Place, tools: SiteCommands) -> None:
    tools.say("diskusage_report", "Your storage is 81 parsecs deep.\x1b[2J\n")
    answer = local.voy("quota", NARVAL)
    assert "`diskusage_report` says this, which Voyageur does not understand:" in answer.stdout
    assert "  Your storage is 81 parsecs deep.\\x1b[2J" in answer.stdout
    assert "all of the file system" in answer.stdout


def test_a_tool_that_is_broken_or_hangs_hides_nothing_else(
    tools: SiteCommands, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", tools.path(os.environ["PATH"]))
    tools.hang("diskusage_report", after="Description\n")
    tools.say("cinQuota", "", errors="TypeError: 'NoneType' object is not subscriptable\n", code=1)
    tools.say("quota", recorded("quota-linux.txt"), arguments=["-s"])
    started = time.monotonic()
    found = look(Here(), load_profile("narval"), {"HOME": "/home/ada"}, Duration(1))
    assert time.monotonic() - started < 10
    assert [quota.place for quota in found.quotas] == ["/home", "nfs-a.cluster.example:/export/groups/lab"]
    assert found.problems == (
        "diskusage_report gave no answer in 1s",
        "TypeError: 'NoneType' object is not subscriptable",
    )


def test_the_command_that_the_profile_names_is_asked_and_no_other(
    tools: SiteCommands, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", tools.path(os.environ["PATH"]))
    tools.say("jutil", recorded("jutil-dataquota.json"))
    tools.say("diskusage_report", recorded("diskusage-report-old.txt"))
    site = Site(name="j", engine="slurm", title="J", storage=Storage(quota_command="jutil project dataquota"))
    quotas = ask(Here(), site, {"PROJECT": "/p/project1/synthlaion"})
    assert [quota.place for quota in quotas] == ["/p/scratch/synthlaion", "/p/project1/synthlaion"]
    assert tools.asked("jutil") == ["project dataquota --project synthlaion -o json -U KB"]
    assert tools.asked("diskusage_report") == []


def test_lustre_is_asked_for_the_user_the_group_and_the_folders_project(
    tools: SiteCommands, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", tools.path(os.environ["PATH"]))
    head = "Type Mounted on 1K-blocks Used Avail Inodes IUsed File\n"
    tools.say("df", f"{head}lustre /lustre7 1000 500 500 100 50 /lustre7/ada\n")
    group = recorded("lfs-quota-user.txt").replace("usr ada", "grp lab").replace("900000000", "0")
    tools.say("lfs", recorded("lfs-quota-user.txt"), arguments=["quota", "-u", "ada", "/lustre7/ada"])
    tools.say("lfs", group, arguments=["quota", "-g", str(os.getgid()), "/lustre7/ada"])
    tools.say("lfs", "83115734 P /lustre7/ada\n", arguments=["project", "-d", "/lustre7/ada"])
    tools.say("lfs", recorded("lfs-quota-project.txt"), arguments=["quota", "-p", "83115734", "/lustre7/ada"])
    site = Site(name="x", engine="slurm", title="X", storage=Storage(scratch="/lustre7/ada"))
    owners = [quota.owner for quota in ask(Here(), site, {"USER": "ada"})]
    assert owners == ["user ada", "project 83115734"]


def test_without_any_tool_the_file_system_itself_answers(local: Place) -> None:
    told = shown(local, "--on=local")
    (quota,) = told["quotas"]
    assert quota["whole"] and 0 < quota["full"] <= 1
    assert quota["source"] == "statvfs"


def test_nothing_at_all_is_an_error_with_what_was_tried(local: Place, tools: SiteCommands) -> None:
    tools.say("df", "", errors="df: cannot read table of mounted file systems\n", code=1)
    answer = local.voy("quota", "--on=local", code=1)
    assert answer.stderr.startswith("error: nothing is known of your quotas\n  df: cannot read table of mounted")


def test_files_are_counted_where_no_tool_tells(local: Place) -> None:
    local.write("data/a/1.txt", "")
    local.write("data/2.txt", "")
    answer = local.voy("quota", "--count", "data")
    assert "data holds 4 files and folders\n" in answer.stdout
    assert shown(local, "--count", "data")["counts"][0]["inodes"] == 4


def test_a_folder_that_is_not_there_cannot_be_counted(local: Place) -> None:
    answer = local.voy("quota", "--count", "dta", code=2)
    assert answer.stderr.startswith("error: there is no folder dta\n")


def test_before_a_submission_tools_that_hang_are_waited_for_once(
    tools: SiteCommands, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", tools.path(os.environ["PATH"]))
    for command in ("diskusage_report", "lumi-quota", "cinQuota", "df"):
        tools.hang(command)
    site = Site(name="x", engine="slurm", title="X", storage=Storage(scratch="/tmp"))
    assert ask(Here(), site, {"USER": "ada"}, Duration(1)) == ()
    assert sum(len(tools.asked(command)) for command in ("diskusage_report", "lumi-quota", "cinQuota", "df")) <= 2
