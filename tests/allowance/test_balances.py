"""What the sites' balance commands answered, as published, and what is read from it.

`saldo -b`: a user's log of CINECA's Leonardo, 2026-09-18. `lumi-workspaces`: a course's page, 2026-04-22. `taccinfo`:
TACC's course pages for Lonestar6, 2025, a user's notes of Frontera, 2020. `accounts`: NCSA's documentation of Delta,
page "Job Accounting". Spellings are theirs, trailing blanks included; people's names are not.
"""

from __future__ import annotations

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.site_commands import recorded
from voyageur.allowance import Balance, balances_from, is_readable

NOW = datetime(2026, 4, 22, 16, 47, 17)


def read(command: str, name: str, unit: str = "SU") -> list[Balance]:
    return balances_from(command.split(), recorded(name), unit, NOW)


def test_saldo_of_leonardo() -> None:
    expired, _, running = read("saldo -b", "saldo-leonardo.txt", "core-hours")
    assert running == Balance(
        account="IscrB_WearUsFM",
        unit="core-hours",
        granted=2_000_000,
        used=1_205_697,
        left=794_303,
        until="2027-01-07",
        month=164_383,
        month_used=99_394,
        source="saldo",
    )
    assert (expired.until, expired.month) == ("2026-04-30", None)


def test_allocations_of_lumi_come_with_their_age() -> None:
    cores, gpus, storage = read("lumi-workspaces", "lumi-workspaces.txt")
    assert (cores.account, cores.unit, cores.granted, cores.left) == ("project_465002906", "core-hours", 1000, 1000)
    assert (gpus.unit, gpus.left, gpus.age) == ("GPU-hours", 300, 7200)
    assert storage.unit == "TB-hours"


def test_a_project_of_lumi_with_nothing_allocated_is_not_an_empty_one() -> None:
    line = (
        "project_462000008   |                                     N/A|          12.5/300   (4.2%) gpu/hours|   N/A\n"
    )
    (gpus,) = balances_from(["lumi-allocations"], line, "", NOW)
    assert (gpus.left, gpus.age) == (287.5, None)


@pytest.mark.parametrize("command", ["taccinfo", "/usr/local/etc/taccinfo"])
def test_projects_of_tacc_stand_two_in_a_line_and_disks_are_none(command: str) -> None:
    found = {balance.account: balance for balance in read(command, "taccinfo-lonestar6.txt")}
    assert list(found) == [
        *("TACC-SCI", "OTH22024", "IBN23016", "IBN22007"),
        *("DrugDiscovery", "DBS22003", "STAR-Avathon", "OTH24028"),
    ]
    assert (found["OTH24028"].left, found["OTH24028"].until, found["OTH24028"].granted) == (525, "2029-07-31", None)


def test_a_project_may_be_overdrawn() -> None:
    first, second = read("taccinfo", "taccinfo-frontera.txt")
    assert (first.left, second.left) == (-3571, 100_000)


def test_accounts_of_delta() -> None:
    gpu, cpu = read("accounts", "accounts-delta.txt")
    assert (gpu.account, gpu.left, gpu.granted, gpu.used) == ("bbka-delta-gpu", 5e6, 5e6, 0)
    assert cpu.account == "bbka-delta-cpu"


COMMANDS = ["saldo", "lumi-allocations", "taccinfo", "accounts"]
ANSWERS = ["saldo-leonardo.txt", "lumi-workspaces.txt", "taccinfo-lonestar6.txt", "accounts-delta.txt"]


@pytest.mark.parametrize(("command", "name"), [(a, b) for a in COMMANDS for b in ANSWERS if b[:4] != a[:4]])
def test_one_commands_answer_is_not_read_as_anothers(command: str, name: str) -> None:
    assert read(command, name) == []


@pytest.mark.parametrize(("command", "name"), list(zip(COMMANDS, ANSWERS, strict=True)))
def test_banners_and_line_ends_of_another_system_do_not_hide_a_row(command: str, name: str) -> None:
    noisy = f"** maintenance on Tuesday | bring 12 cakes **\n{recorded(name)}".replace("\n", "\r\n")
    assert balances_from([command], noisy, "SU", NOW) == read(command, name)


@pytest.mark.parametrize(("command", "name"), list(zip(COMMANDS, ANSWERS, strict=True)))
@given(cut=st.integers(0, 3000), junk=st.text(max_size=40))
def test_an_answer_that_is_cut_off_or_spoilt_never_raises(command: str, name: str, cut: int, junk: str) -> None:
    text = recorded(name)
    known = {balance.account for balance in read(command, name)}
    for balance in balances_from([command], text[:cut] + junk, "SU", NOW):
        assert balance.account in known or junk


def test_a_command_nobody_knows_is_not_read() -> None:
    assert is_readable(["saldo"]) and not is_readable(["moneyleft"]) and not is_readable([])
    assert balances_from(["moneyleft"], recorded("saldo-leonardo.txt"), "SU", NOW) == []
