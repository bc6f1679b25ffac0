"""What is put together from Slurm's answers about accounts; the commands say what the real ones said."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.site_commands import SiteCommands, recorded
from voyageur.allowance import JobCount
from voyageur.hosts import Here
from voyageur.questions.accounts import ask_accounts, count_jobs
from voyageur.questions.balances import ask_balances
from voyageur.site import Site
from voyageur.site.profile import from_toml
from voyageur.units import Duration

SOON = Duration(1)


@pytest.fixture
def slurm(site_commands: SiteCommands, monkeypatch: pytest.MonkeyPatch) -> SiteCommands:
    monkeypatch.setenv("PATH", site_commands.path())
    site_commands.say("id", "nobody\n")
    return site_commands


def shares(slurm: SiteCommands, *, own: str = "sshare-of-a-user.txt") -> None:
    """The own ones for the first question, those of the accounts for any other."""
    from voyageur.slurm_text import own_shares_argv

    slurm.say("sshare", recorded(own), arguments=own_shares_argv()[1:])
    slurm.say("sshare", recorded("sshare-of-accounts.txt"))


def test_the_answers_are_put_together_by_account(slurm: SiteCommands) -> None:
    shares(slurm)
    slurm.say("sacctmgr", recorded("sacctmgr-user.txt"))
    charged = ask_accounts(Here(), SOON)
    first, second = charged.accounts
    assert (first.name, first.fair_share, first.default, first.partitions) == ("def-a", 0.402379, True, ())
    assert (second.name, second.fair_share, second.most_submitted, second.qos) == (
        "rrg-b",
        0.276642,
        3,
        ("normal", "small"),
    )
    cpu, gpu = charged.balances
    assert (cpu.account, cpu.unit, cpu.granted, cpu.left) == ("rrg-b", "cpu hours", 1000 / 60, 998 / 60)
    assert (gpu.unit, gpu.granted, gpu.left) == ("gres/gpu hours", 1.0, 1.0)
    assert charged.problems == ()


def test_a_handful_of_questions_and_only_about_this_cluster(slurm: SiteCommands) -> None:
    shares(slurm)
    slurm.say("sacctmgr", recorded("sacctmgr-user.txt"))
    ask_accounts(Here(), SOON)
    own, above = slurm.asked("sshare")
    assert "--Users" in own and "--accounts=def-a,rrg-b " in above
    (associations,) = slurm.asked("sacctmgr")
    assert "user=nobody cluster=bed " in associations


def test_for_a_plan_the_database_is_left_in_peace(slurm: SiteCommands) -> None:
    shares(slurm)
    charged = ask_accounts(Here(), SOON, in_full=False)
    assert [(account.name, account.fair_share) for account in charged.accounts] == [
        ("def-a", 0.402379),
        ("rrg-b", 0.276642),
    ]
    assert len(charged.balances) == 2 and slurm.asked("sacctmgr") == []


def test_levels_that_slurm_has_not_counted_are_no_fair_shares(slurm: SiteCommands) -> None:
    """As a Slurm 22.05 with priority/basic wrote them: zero for everybody, and no part of anything."""
    head = "Cluster|Account|User|Partition|RawShares|NormShares|RawUsage|EffectvUsage|FairShare|LevelFS\n"
    slurm.say(
        "sshare", head + "bed|def-a|nobody||1||0|0.000000|0.000000|0.000000\nbed|def-a|||1||0|0.000000||0.000000\n"
    )
    (account,) = ask_accounts(Here(), SOON, in_full=False).accounts
    assert account.fair_share is None
    slurm.say("sshare", head + "bed|def-a|nobody||1|0.5|0|0.000000|0.000000|0.000000\n")
    assert ask_accounts(Here(), SOON, in_full=False).accounts[0].fair_share is None
    slurm.say("sshare", head + "bed|def-a|nobody||1|0.5|9|1.000000|0.000000|0.000000\n")
    assert ask_accounts(Here(), SOON, in_full=False).accounts[0].fair_share == 0


def test_without_fair_share_the_accounts_are_those_of_the_database(slurm: SiteCommands) -> None:
    slurm.say("sshare", "You are not running a supported priority plugin\n", code=1)
    slurm.say("scontrol", "ClusterName = bed\nAccountingStorageType = accounting_storage/slurmdbd\n")
    slurm.say("sacctmgr", recorded("sacctmgr-user.txt"))
    charged = ask_accounts(Here(), SOON)
    assert [(account.name, account.fair_share) for account in charged.accounts] == [("def-a", None), ("rrg-b", None)]
    assert charged.problems == ()


def test_a_controller_that_hangs_is_asked_once(slurm: SiteCommands) -> None:
    slurm.hang("sshare", after="Cluster|Acc")
    slurm.say("sacctmgr", recorded("sacctmgr-user.txt"))
    started = time.monotonic()
    charged = ask_accounts(Here(), SOON)
    assert time.monotonic() - started < 3
    assert (charged.accounts, charged.problems) == ((), ("sshare gave no answer in 1s",))
    assert len(slurm.asked("sshare")) == 1 and slurm.asked("sacctmgr") == []


def test_a_database_that_refuses_is_quoted_and_what_the_controller_knows_stays(slurm: SiteCommands) -> None:
    shares(slurm)
    errors = "sacctmgr: error: slurm_persist_conn_open: failed\nsacctmgr: error: Connection refused\n"
    slurm.say("sacctmgr", "", errors=errors, code=1)
    charged = ask_accounts(Here(), SOON)
    assert [account.fair_share for account in charged.accounts] == [0.402379, 0.276642]
    assert charged.problems == ("sacctmgr: error: Connection refused",)


def test_a_machine_without_slurm_has_nothing_to_say(slurm: SiteCommands, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(slurm.folder))
    charged = ask_accounts(Here(), SOON)
    assert charged.accounts == () and charged.problems[0] == "sshare: No such file or directory"
    assert count_jobs(Here(), SOON) is None


def test_jobs_are_counted_task_by_task(slurm: SiteCommands, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.urandom", lambda _: bytes.fromhex("5d3a9c01e7b24f68"))
    slurm.say("squeue", recorded("squeue-of-an-array.txt"))
    assert count_jobs(Here(), SOON) == JobCount(submitted=7, running=4)


def site(command: str) -> Site:
    accounting = f'[accounting]\nunit = "core-hours"\nbalance_command = "{command}"\n'
    return from_toml("oak", f'engine = "slurm"\ntitle = "Oak"\n{accounting}')


def test_the_sites_own_commands_one_after_the_other(slurm: SiteCommands) -> None:
    slurm.say("saldo", recorded("saldo-leonardo.txt"), arguments=["-b"])
    slurm.say("saldo", "no budget here\n", arguments=["--dcgp", "-b"])
    slurm.say("broken", "half of it\n", errors="broken: no such user\n", code=3)
    told = ask_balances(Here(), site("saldo -b; saldo --dcgp -b; sshare; broken; nowhere"), SOON)
    assert [one.command for one in told] == ["saldo -b", "saldo --dcgp -b", "broken", "nowhere"]
    assert [len(one.balances) for one in told] == [3, 0, 0, 0]
    assert told[1].unread == ("no budget here",) and told[1].problem == ""
    assert (told[2].problem, told[2].unread) == ("broken: no such user", ("half of it",))
    assert told[3].problem == "nowhere: No such file or directory"


def test_a_balance_command_that_hangs_with_a_child_is_ended(slurm: SiteCommands, tmp_path: Path) -> None:
    (slurm.folder / "slow").write_text("#!/bin/bash\necho beginning\nsleep 60\n")
    (slurm.folder / "slow").chmod(0o755)
    started = time.monotonic()
    (told,) = ask_balances(Here(), site("slow"), SOON)
    assert time.monotonic() - started < 5
    assert (told.problem, told.unread) == ("slow gave no answer in 1s", ("beginning",))
