"""Which account a plan charges."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tests.plan.wishes import CLUSTER, CODE, MACHINE, STRICT, wish
from voyageur.allowance import Account, Balance
from voyageur.errors import SiteError
from voyageur.plan import Choice, Identity, Plan, Surroundings, make_plan
from voyageur.site import Policy, Site, Unit

pytest_plugins = ["tests.golden"]

ALLIANCE = replace(
    STRICT,
    name="narval",
    request=replace(
        STRICT.request, account=Policy.CONDITIONAL, account_form="(def|rrg)-[a-z0-9-]+", account_example="def-prof"
    ),
)


def account(name: str, fair_share: float | None = None, **more: Any) -> Account:
    return Account(name=name, fair_share=fair_share, **more)


def plan(site: Site, *accounts: Account, balances: tuple[Balance, ...] = (), **asked: Any) -> Plan:
    around = Surroundings(scratch="/scratch", accounts=accounts, balances=balances)
    return make_plan(wish(**asked), site, around, Identity(slug="train", token="0123456789ab"), CODE)


def chosen(site: Site, *accounts: Account, **asked: Any) -> Choice[str | None]:
    return plan(site, *accounts, **asked).account


def test_the_best_fair_share_wins_and_the_plan_says_of_which() -> None:
    choice = chosen(STRICT, account("def-a", 0.4), account("rrg-b", 1.921))
    assert choice.value == "rrg-b"
    assert choice.because == "the best fair share (1.92) of def-a, rrg-b; `voy site accounts` shows them"


def test_who_has_used_nothing_yet_comes_first_and_the_default_decides_a_tie() -> None:
    inf = float("inf")
    assert chosen(STRICT, account("def-a", 7.0), account("rrg-b", inf)).value == "rrg-b"
    assert chosen(STRICT, account("def-a", inf), account("rrg-b", inf, default=True)).value == "rrg-b"
    assert "nothing used yet" in chosen(STRICT, account("a", inf), account("b", 1.0)).because


def test_one_account_is_taken() -> None:
    choice = chosen(STRICT, account("def-a"))
    assert (choice.value, choice.because) == ("def-a", "the only one that you may charge")


def test_where_slurm_adds_cpu_or_gpu_by_itself_the_plain_name_is_given() -> None:
    """sacctmgr and sshare list `def-a_cpu` and `def-a_gpu`; sbatch wants `def-a`."""
    both = (account("def-a_cpu", 3.0), account("def-a_gpu", 0.5), account("rrg-b_cpu", 1.0), account("rrg-b_gpu", 0.9))
    assert chosen(ALLIANCE, *both).value == "def-a"
    with_gpu = chosen(ALLIANCE, *both, gpus=1)
    assert (with_gpu.value, "(0.90) of def-a, rrg-b" in with_gpu.because) == ("rrg-b", True)


def test_accounts_of_another_cluster_or_of_another_kind_are_out() -> None:
    choice = chosen(ALLIANCE, account("aip-x", 9.0), account("def-a", 0.1))
    assert (choice.value, choice.because) == ("def-a", "the only one that fits this job")
    delta = (account("bbka-delta-gpu", 0.1), account("bbka-delta-cpu", 5.0))
    assert chosen(STRICT, *delta, gpus=1).value == "bbka-delta-gpu"
    assert chosen(STRICT, *delta).value == "bbka-delta-cpu"


def test_an_account_of_other_partitions_is_out() -> None:
    elsewhere = account("def-a", 9.0, partitions=("gpus",))
    assert chosen(CLUSTER, elsewhere, account("def-b", 0.1)).value == "def-b"
    assert chosen(CLUSTER, elsewhere, account("def-b", 0.1), gpus=1).value == "def-a"


def test_several_without_fair_shares_are_for_people_to_choose_from(golden: Any) -> None:
    with pytest.raises(SiteError) as caught:
        chosen(ALLIANCE, account("def-a_cpu"), account("rrg-b_cpu"))
    golden("accounts-without-shares.txt", caught.value.text() + "\n")


def test_where_slurm_has_a_default_it_need_not_be_known_which_is_best() -> None:
    choice = chosen(CLUSTER, account("def-a"), account("rrg-b"))
    assert (choice.value, choice.because) == (None, "none named: of def-a, rrg-b your default is charged")


def test_none_that_fits(golden: Any) -> None:
    with pytest.raises(SiteError) as caught:
        chosen(ALLIANCE, account("aip-x", 9.0), account("aip-y", 1.0))
    golden("accounts-none-fits.txt", caught.value.text() + "\n")


def test_a_named_account_that_is_not_ours(golden: Any) -> None:
    with pytest.raises(SiteError) as caught:
        chosen(ALLIANCE, account("def-ada_cpu", 1.0), account("rrg-bob_cpu", 1.0), account="def-adda")
    golden("accounts-not-ours.txt", caught.value.text() + "\n")


@pytest.mark.parametrize("name", ["def-ada", "def-ada_cpu", "DEF-ADA"])
def test_a_named_account_may_be_spelled_as_people_spell_it(name: str) -> None:
    assert chosen(ALLIANCE, account("def-ada_cpu", 1.0), account=name).value == name


def test_where_nothing_is_known_nobody_is_blamed() -> None:
    assert chosen(ALLIANCE).because == "none named: your default account is charged"
    assert chosen(ALLIANCE, account="whatever").value == "whatever"
    with pytest.raises(SiteError, match="wants to know which account"):
        chosen(STRICT)


def test_this_machine_charges_nobody() -> None:
    assert chosen(MACHINE, account("def-a", 1.0)).value is None


def balance(account: str, unit: str, left: float) -> Balance:
    return Balance(account=account, unit=unit, left=left, source="saldo")


def test_what_is_left_is_that_of_the_account_and_unit_that_are_charged() -> None:
    site = replace(ALLIANCE, accounting=replace(ALLIANCE.accounting, unit=Unit.CORE_HOURS, by=("cores",)))
    rows = (
        balance("def-a", "GPU-hours", 1.0),
        balance("rrg-b", "core-hours", 2.0),
        balance("def-a", "core-hours", 900.0),
        balance("def-a", "core-hours", 800.0),
    )
    made = plan(site, account("def-a", 1.0), balances=rows, cpus=4, time="10h")
    assert made.cost and made.cost.amount == 40 and made.left == rows[3]
    assert plan(ALLIANCE, account("def-a", 1.0), balances=rows).left is None


def test_variables_of_the_shell_that_name_an_account_are_said_not_to_count() -> None:
    around = Surroundings(scratch="/scratch", account_variables={"SBATCH_ACCOUNT": "def-x"})
    identity = Identity(slug="train", token="0123456789ab")
    made = make_plan(wish(account="def-a"), ALLIANCE, around, identity, CODE)
    assert "SBATCH_ACCOUNT=def-x in your shell does not count here; `--account def-x` charges that one" in made.notes
    assert not make_plan(wish(account="def-x"), ALLIANCE, around, identity, CODE).notes
