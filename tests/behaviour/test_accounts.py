"""Accounts on a live Slurm that charges them: which one is chosen, what is refused, what is left."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.place import Place
from tests.site_commands import SiteCommands, recorded
from tests.testbed.accounts import BUSY, IDLE, QOS, Book

WORK = ("--", "python", "work.py")


@pytest.fixture(autouse=True)
def program(request: pytest.FixtureRequest) -> None:
    name = next(name for name in ("charged", "simple") if name in request.fixturenames)
    place: Place = request.getfixturevalue(name)
    place.write("work.py", "print('worked')")


def planned(place: Place, *arguments: str) -> dict[str, Any]:
    return dict(json.loads(place.voy("plan", "--json", *arguments, *WORK).stdout))


def accounts(place: Place) -> dict[str, Any]:
    return dict(json.loads(place.voy("site", "accounts", "--json").stdout))


def own_site(place: Place, text: str) -> None:
    """A profile of this cluster: known to be here by the name that Slurm has for itself."""
    name = (
        (place.bed.root / "etc" / "slurm.conf").read_text().split("ClusterName=")[1].split("\n")[0] if place.bed else ""
    )
    folder = place.home / ".config" / "voyageur" / "sites"
    folder.mkdir(parents=True)
    (folder / "teaching.toml").write_text(
        f'engine = "slurm"\ntitle = "A teaching cluster"\n[fingerprint]\ncluster = ["{name}"]\n'
        f'[queues.partitions.low]\ndefault = true\ncpus = 8\nmemory = "4000M"\nnodes = 4\n{text}'
    )


def test_the_account_with_the_best_fair_share_is_charged(charged: Place) -> None:
    plan = planned(charged)
    assert plan["account"]["value"] == IDLE
    assert plan["account"]["because"].startswith(f"the best fair share (nothing used yet) of {IDLE}, {BUSY};")
    run = charged.submit(*WORK)
    assert charged.wait(run, code=0)["state"] == "done"
    assert charged.bed and charged.bed.job(charged.status(run)["job"])["Account"] == IDLE


def test_variables_of_the_shell_do_not_charge_another_account(charged: Place) -> None:
    """sbatch itself lets them win over what stands in the script."""
    charged.environment |= {"SBATCH_ACCOUNT": BUSY, "SALLOC_ACCOUNT": BUSY, "SLURM_ACCOUNT": BUSY}
    notes = planned(charged)["notes"]
    assert any(f"SBATCH_ACCOUNT={BUSY} in your shell does not count here" in note for note in notes)
    run = charged.submit("-a", IDLE, *WORK)
    assert charged.wait(run, code=0)["state"] == "done"
    assert charged.bed and charged.bed.job(charged.status(run)["job"])["Account"] == IDLE


def test_an_account_that_may_not_be_charged_is_refused_before_anything_is_made(charged: Place) -> None:
    answer = charged.voy("submit", "-a", "def-b", *WORK, code=2)
    assert "you may not charge the account `def-b` on slurm" in answer.stderr
    assert f"you may charge: {IDLE}, {BUSY}" in answer.stderr
    assert f"hint: did you mean `--account {IDLE}`?" in answer.stderr
    assert not list(charged.scratch.glob("*/hpc_outputs/*"))
    assert charged.voy("submit", "-a", IDLE.upper(), *WORK, code=0).stdout


def test_a_limit_of_a_qos_that_is_reached_is_said_with_what_to_do(charged: Place) -> None:
    charged.fill(f"--account={IDLE}")
    first = charged.submit("-a", BUSY, "--qos", QOS, "-t", "20m", *WORK)
    answer = charged.voy("submit", "-a", BUSY, "--qos", QOS, "-t", "20m", *WORK, code=1)
    assert "QOSMaxSubmitJobPerUserLimit" in answer.stderr
    assert "wait for some to end, then submit again" in answer.stderr
    charged.voy("cancel", first)


def test_a_job_that_slurm_takes_but_never_starts_is_stuck_with_what_to_do(charged: Place) -> None:
    """Unless it is told to enforce limits, sbatch says yes to an account and to a time that are not allowed."""
    assert charged.bed
    with Book(charged.bed).partition("short", AllowAccounts=BUSY):
        foreign = charged.submit("-p", "short", "-t", "5m", "-a", IDLE, *WORK)
        long = charged.submit("-a", BUSY, "--qos", QOS, "-t", "2h", "--ignore", "time-limit", *WORK)
        hints = {foreign: "not for its account", long: "more time than its account or QOS allows"}
        charged.until(lambda: {charged.status(run)["state"] for run in hints} == {"stuck"})
        for run, hint in hints.items():
            assert hint in charged.status(run)["hint"]
        charged.voy("cancel", *hints)


def test_what_may_be_charged_is_shown_with_shares_limits_and_what_is_left(charged: Place) -> None:
    assert charged.bed
    Book(charged.bed).limit(BUSY, MaxSubmitJobs="7")
    told = accounts(charged)
    rows = {account["name"]: account for account in told["accounts"]}
    assert set(rows) == {IDLE, BUSY}
    assert (rows[IDLE]["unused"], rows[IDLE]["fair_share"]) == (True, None)
    assert (rows[BUSY]["default"], rows[BUSY]["most_submitted"]) == (True, 7)
    assert rows[BUSY]["qos"] == ["normal", QOS]
    assert 0 < rows[BUSY]["fair_share"] < 10 and 0 < rows[BUSY]["usage"] <= 1
    (balance,) = told["balances"]
    assert (balance["account"], balance["unit"], balance["granted"]) == (BUSY, "core-hours", 1000)
    assert 999 <= balance["left"] <= 1000
    assert told["chosen"]["value"] == IDLE and told["problems"] == []
    text = charged.voy("site", "accounts").stdout
    assert f"{IDLE} (chosen)" in text and f"{BUSY} (default)" in text and "7 submitted" in text
    Book(charged.bed).limit(BUSY, MaxSubmitJobs="-1")


def test_only_accounts_of_the_sites_own_form_are_chosen(charged: Place) -> None:
    own_site(charged, '[request]\naccount = "required"\naccount_form = "rrg-[a-z]+"\n')
    plan = planned(charged, "--on", "teaching")
    assert (plan["account"]["value"], plan["account"]["because"]) == (BUSY, "the only one that fits this job")


def test_where_each_account_has_a_scratch_of_its_own_it_is_that_of_the_chosen_one(charged: Place) -> None:
    own_site(charged, f'[storage]\nscratch = "{charged.scratch}/of-{{account}}"\n')
    scratch = planned(charged, "--on", "teaching")["folders"]["scratch"]
    assert scratch == f"{charged.scratch}/of-{IDLE}/project"


def test_what_is_left_by_the_sites_own_command_stands_beside_the_cost(charged: Place, tmp_path: Path) -> None:
    own_site(
        charged,
        '[request]\naccount = "required"\n'
        '[accounting]\nunit = "core-hours"\nby = ["cores"]\nbalance_command = "saldo -b"\n',
    )
    commands = SiteCommands(tmp_path / "site")
    commands.say("saldo", recorded("saldo-leonardo.txt").replace("IscrB_WearUsFM", IDLE.ljust(14)), arguments=["-b"])
    charged.environment["PATH"] = commands.path(charged.environment["PATH"])
    plan = planned(charged, "--on", "teaching", "-c", "4", "-t", "3h")
    assert (plan["cost"]["amount"], plan["cost"]["unit"]) == (12, "core-hours")
    assert (plan["left"]["account"], plan["left"]["left"], plan["left"]["until"]) == (IDLE, 794303, "2027-01-07")
    text = charged.voy("plan", "--on", "teaching", "-c", "4", "-t", "3h", *WORK).stdout
    assert "12 core-hours" in text and "794,303 core-hours" in text
    budget = charged.voy("budget", "--on", "teaching").stdout
    assert "794,303" in budget and "this month 99,394 of 164,383" in budget and BUSY in budget


def test_an_answer_that_cannot_be_read_is_shown_and_one_that_hangs_is_not_waited_for(
    charged: Place, tmp_path: Path
) -> None:
    own_site(charged, '[accounting]\nbalance_command = "moneyleft --all; saldo -b"\n')
    commands = SiteCommands(tmp_path / "site")
    commands.say("moneyleft", "You have 12 crowns left, \x1b[31mor so\n", arguments=["--all"])
    commands.hang("saldo", after="-----\naccount")
    charged.environment["PATH"] = commands.path(charged.environment["PATH"])
    started = time.monotonic()
    answer = charged.voy("budget", "--on", "teaching")
    assert time.monotonic() - started < 25
    assert "`moneyleft --all` says, and it could not be read:" in answer.stdout
    assert "  You have 12 crowns left, \\x1b[31mor so" in answer.stdout
    assert "saldo gave no answer in 10s" in answer.stderr
    assert IDLE in answer.stdout


def test_a_database_that_is_down_takes_away_nothing_but_what_it_alone_knows(charged: Place) -> None:
    assert charged.bed
    charged.bed.accounting.kill()
    told = accounts(charged)
    assert {account["name"]: account["default"] for account in told["accounts"]} == {IDLE: False, BUSY: False}
    assert any("Connection refused" in problem for problem in told["problems"])
    assert "sreport" in charged.voy("budget").stderr
    assert charged.wait(charged.submit("-a", BUSY, *WORK), code=0)["state"] == "done"


def test_a_database_that_hangs_keeps_nobody_from_submitting(charged: Place) -> None:
    assert charged.bed
    charged.bed.accounting.pause()
    started = time.monotonic()
    run = charged.submit("-a", IDLE, *WORK)
    assert time.monotonic() - started < 25
    charged.bed.accounting.resume()
    assert charged.wait(run, code=0)["state"] == "done"


def test_on_a_cluster_without_accounting_nothing_is_known_and_nothing_is_wrong(simple: Place) -> None:
    told = accounts(simple)
    assert (told["accounts"], told["balances"], told["problems"]) == ([], [], [])
    assert planned(simple)["account"] == {"value": None, "because": "none named: your default account is charged"}
    assert "nothing is known of what you may use" in simple.voy("budget").stdout
