"""`voy site probe` with commands of Slurm's on the PATH that say what a real Slurm said, or nothing."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.place import Place
from tests.site_commands import SiteCommands, recorded
from voyageur.hosts import Here
from voyageur.questions.probe import probe
from voyageur.site import Site, load_profile
from voyageur.units import Duration


@pytest.fixture
def cluster(local: Place, site_commands: SiteCommands) -> SiteCommands:
    site_commands.say("sinfo", recorded("sinfo-all.txt"))
    site_commands.say("scontrol", recorded("scontrol-show-config.txt"), arguments=["show", "config"])
    partitions = ["--all", "--oneliner", "show", "partition"]
    site_commands.say("scontrol", recorded("scontrol-show-partition.txt"), arguments=partitions)
    site_commands.say("sacctmgr", "normal|||\n")
    site_commands.say("sbatch", "", errors="sbatch: error: Invalid account\n", code=1)
    conf = local.write("slurm.conf", "ClusterName=bed\n")
    local.environment |= {"PATH": site_commands.path(local.environment["PATH"]), "SLURM_CONF": str(conf)}
    local.environment.pop("VOY_SITE")
    return site_commands


def own(place: Place, name: str) -> Path:
    return place.home / ".config/voyageur/sites" / f"{name}.toml"


def probed(place: Place, *arguments: str, code: int = 0) -> dict[str, Any]:
    return dict(json.loads(place.voy("site", "probe", "--json", *arguments, code=code).stdout))


def test_a_cluster_that_no_profile_fits_gets_one_and_is_recognised_by_it(local: Place, cluster: SiteCommands) -> None:
    told = local.voy("site", "probe").stdout
    assert "no profile fits this cluster; `--name lab --write` makes this one:" in told
    assert not own(local, "lab").exists()
    answer = local.voy("site", "probe", "--name", "lab", "--write")
    assert answer.stderr == f"{own(local, 'lab')} written: `--on lab` uses it from now on\n"
    site = load_profile("lab", own(local, "lab").parent)
    assert [partition.name for partition in site.partitions] == ["low", "lowg", "lowc", "high", "short"]
    assert local.voy("site", "detect").stdout.splitlines()[0] == "lab"
    assert "the profile says what the cluster says" in local.voy("site", "probe").stdout
    assert cluster.asked("sbatch") == []


def test_what_is_there_already_is_left_as_it_is(local: Place, cluster: SiteCommands) -> None:
    local.voy("site", "probe", "--name", "lab", "--write")
    before = own(local, "lab").stat().st_mtime_ns
    assert local.voy("site", "probe", "--name", "lab", "--write").stderr.endswith("lab.toml says this already\n")
    assert own(local, "lab").stat().st_mtime_ns == before


def test_a_file_that_says_something_else_is_not_written_over_unless_told_to(
    local: Place, cluster: SiteCommands
) -> None:
    file = own(local, "lab")
    file.parent.mkdir(parents=True)
    file.write_text('title = "mine"\n[request]\naccount = "required"\n')
    answer = local.voy("site", "probe", "--name", "lab", "--write", code=2)
    assert answer.stderr.startswith("error: there is a file of yours already that says something else\n")
    assert "mine" in file.read_text()
    local.voy("site", "probe", "--name", "lab", "--write", "--force")
    assert "voy site probe" in file.read_text()
    assert "mine" in file.with_name("lab.toml.before").read_text()
    assert sorted(path.name for path in file.parent.iterdir()) == ["lab.toml", "lab.toml.before"]


def test_json_holds_the_same(local: Place, cluster: SiteCommands) -> None:
    told = probed(local)
    assert (told["profile"], told["cluster"], told["slurm"]) == ("slurm", "bed", "22.05.8")
    assert told["partitions"] == ["low", "lowg", "lowc", "high", "short"]
    facts = {".".join(one["fact"]): one["cluster"] for one in told["differences"]}
    assert (facts["limits.array"], facts["kill_wait"]) == (1001, "5s")
    assert told["written"] is None and 'title = "the Slurm cluster bed"' in told["overlay"]


def test_a_profile_of_another_cluster_is_not_touched(local: Place, cluster: SiteCommands) -> None:
    answer = local.voy("site", "probe", "--on", "narval", "--write", code=2)
    assert answer.stderr.splitlines()[0] == "error: this machine belongs to the cluster bed, not to narval"
    assert not own(local, "narval").exists()


def test_a_broken_slurm_is_an_error_with_its_own_words(local: Place, cluster: SiteCommands) -> None:
    words = "slurm_load_partitions: Unable to contact slurm controller (connect failure)\n"
    for command in ("sinfo", "scontrol"):
        cluster.say(command, "", errors=words, code=1)
        cluster.say(command, "", errors=words, code=1, arguments=["show", "config"])
        cluster.say(command, "", errors=words, code=1, arguments=["--all", "--oneliner", "show", "partition"])
    answer = local.voy("site", "probe", "--name", "lab", "--write", code=1)
    assert "error: Slurm does not answer; nothing is known and nothing was written" in answer.stderr
    assert "Unable to contact slurm controller" in answer.stderr
    assert not own(local, "lab").exists()


def test_what_does_not_answer_is_unknown_and_nothing_is_written_half(local: Place, cluster: SiteCommands) -> None:
    cluster.say("sinfo", "", errors="sinfo: error: slurmctld is busy\n", code=1)
    cluster.say("sacctmgr", "", errors="sacctmgr: error: no database\n", code=1)
    shown = local.voy("site", "probe").stdout
    assert "nodes       unknown: sinfo: error: slurmctld is busy" in shown
    assert "qos         unknown: sacctmgr: error: no database" in shown
    answer = local.voy("site", "probe", "--name", "lab", "--write", code=1)
    assert answer.stderr.startswith("error: not all of the cluster answered; nothing was written\n  nodes: ")
    assert not own(local, "lab").exists()


def test_questions_that_hang_cost_the_time_of_one(
    local: Place, cluster: SiteCommands, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.hang("sinfo", after="low*|4|8|")
    cluster.hang("sacctmgr")
    cluster.hang("scontrol", arguments=["--all", "--oneliner", "show", "partition"])
    monkeypatch.setenv("PATH", local.environment["PATH"])
    started = time.monotonic()
    found = probe(Here(), Site(name="slurm", engine="slurm", title="t"), {}, "vm", Duration(2))
    assert time.monotonic() - started < 5
    assert found.seen.cluster == "bed" and found.seen.partitions == ()
    assert found.unknown["nodes"] == "sinfo gave no answer in 2s"


@pytest.mark.parametrize("name", ["a/b", "-x", "any-lab", "slurm", "local", "", "x\ny"])
def test_names_that_no_profile_can_have(local: Place, cluster: SiteCommands, name: str) -> None:
    answer = local.voy("site", "probe", "--name", name, "--write", code=2 if name else None)
    assert "cannot be called" in answer.stderr or not name


def test_a_name_of_the_package_is_not_ones_own(local: Place, cluster: SiteCommands) -> None:
    answer = local.voy("site", "probe", "--name", "narval", code=2)
    assert "hint: `voy site probe --on narval` lays what differs over it" in answer.stderr


def test_writing_needs_a_name(local: Place, cluster: SiteCommands) -> None:
    answer = local.voy("site", "probe", "--write", code=2)
    assert "hint: `voy site probe --name lab --write`" in answer.stderr


def test_a_machine_without_slurm_has_nothing_to_ask(local: Place) -> None:
    local.environment["PATH"] = "/nonexistent"
    answer = local.voy("site", "probe", code=2)
    assert answer.stderr.startswith("error: this machine has no Slurm to ask\n")


def test_a_job_that_slurm_refuses_is_told_in_its_words(local: Place, cluster: SiteCommands) -> None:
    answer = local.voy("site", "probe", "--with-job", code=1)
    assert "Invalid account" in answer.stderr and "hint: name an account you may charge" in answer.stderr
    assert list(local.scratch.iterdir()) == []
