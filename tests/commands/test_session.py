"""Which site is meant, and what it is asked before anything is planned."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.site_commands import SiteCommands, recorded
from voyageur.commands import session
from voyageur.units import Duration

OAK = """
title = "Oak"
[fingerprint]
variables = { OAK = "1" }
[queues.partitions.main]
cpus = 8
"""


@pytest.fixture
def oak(site_commands: SiteCommands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SiteCommands:
    """A cluster that a user's own profile recognises."""
    sites = tmp_path / "voyageur" / "sites"
    sites.mkdir(parents=True)
    (sites / "oak.toml").write_text(OAK, encoding="utf-8")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", site_commands.path())
    monkeypatch.setenv("OAK", "1")
    monkeypatch.setattr(session, "_PATIENCE", Duration(1))
    for command in ("sbatch", "sinfo"):
        site_commands.say(command, "", code=1)
    session.signs_here.cache_clear()
    return site_commands


def test_where_a_profile_knows_the_queues_the_cluster_is_asked_one_thing(oak: SiteCommands) -> None:
    oak.say("scontrol", recorded("scontrol-show-config.txt").replace("KillWait ", "KillWait = 77 sec\nOther "))
    site = session.choose_site("oak")
    assert (site.kill_wait, [partition.name for partition in site.partitions]) == (Duration(77), ["main"])
    assert (oak.asked("sinfo"), oak.asked("scontrol")) == ([], ["show config"])


def test_a_controller_that_hangs_holds_up_no_plan(oak: SiteCommands) -> None:
    oak.hang("scontrol")
    assert session.choose_site("oak").kill_wait == Duration(30)


def test_a_site_is_meant_in_capitals_too(oak: SiteCommands) -> None:
    from voyageur.commands.checking import check_site_named
    from voyageur.errors import SiteError

    with pytest.raises(SiteError) as caught:
        check_site_named("NARVAL", "--on")
    assert caught.value.hint == "did you mean `--on narval`?"
