"""sshare, sacctmgr, sreport and squeue about accounts, as a real Slurm 22.05 answered (tests/recorded)."""

from __future__ import annotations

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.site_commands import recorded
from voyageur.slurm_text import (
    account_shares_argv,
    associations_argv,
    associations_from,
    count_argv,
    counts_from,
    own_shares_argv,
    qos_from,
    refusal_hint,
    report_argv,
    report_from,
    shares_from,
)
from voyageur.slurm_text.figures import amounts, number

MARK = "5d3a9c01e7b24f68"


def test_shares_of_a_user_one_row_for_each_account_and_partition() -> None:
    rows = shares_from(recorded("sshare-of-a-user.txt"))
    assert [(row.account, row.partition, row.fair_share, row.level) for row in rows] == [
        ("def-a", "short", 0.75, float("inf")),
        ("def-a", "", 0.5, 0.5),
        ("rrg-b", "", 0.25, 1.0),
    ]
    assert {row.user for row in rows} == {"nobody"} and {row.cluster for row in rows} == {"bed"}


def test_shares_of_accounts_with_what_slurm_lets_them_spend() -> None:
    rows = {row.account: row for row in shares_from(recorded("sshare-of-accounts.txt")) if not row.user}
    assert (rows["def-a"].level, rows["rrg-b"].level, rows["rrg-b_gpu"].level) == (0.402379, 0.276642, float("inf"))
    assert rows["rrg-b"].limits == {"cpu": 1000, "gres/gpu": 60}
    assert (rows["rrg-b"].spent["cpu"], rows["def-a"].running["cpu"]) == (2, 2879)
    assert rows["def-a"].limits == {} and rows["rrg-b"].norm == 0.163934


def test_columns_are_found_by_their_names_and_those_that_are_missing_are_unknown() -> None:
    old = "** welcome | to | Narval **\nAccount|User|RawShares|NormShares|RawUsage|EffectvUsage|FairShare\n"
    row, parent = shares_from(old + " def-a|ana|1|0.5|12|0.25|0.75\n def-b|ana|parent|0.1||n/a|nan\n")
    assert (row.fair_share, row.level, row.limits, row.cluster) == (0.75, None, {}, "")
    assert (parent.shares, parent.usage, parent.effective, parent.fair_share) == (None, None, None, None)


def test_associations_with_default_limits_and_qos() -> None:
    rows = associations_from(recorded("sacctmgr-user.txt"))
    assert [(row.account, row.partition, row.default) for row in rows] == [
        ("def-a", "short", True),
        ("def-a", "", True),
        ("rrg-b", "", False),
    ]
    assert (rows[2].qos, rows[2].most_submitted, rows[2].most_running) == (("normal", "small"), 3, None)


def test_limits_of_qos() -> None:
    normal, small = qos_from(recorded("sacctmgr-qos.txt"))
    assert (normal.name, normal.most_submitted, normal.limits) == ("normal", None, {})
    assert (small.most_submitted, small.longest, small.limits) == (2, "00:30:00", {"cpu": 100})


def test_use_is_in_hours_and_what_was_not_used_is_left_out() -> None:
    uses = {(use.account, use.kind): use.hours for use in report_from(recorded("sreport.txt"))}
    assert uses["def-a", "cpu"] == 250 / 60 and uses["rrg-b", "cpu"] == 400 / 60
    assert ("def-a", "gres/gpu") not in uses


def test_tasks_of_an_array_are_counted_one_by_one() -> None:
    assert counts_from(recorded("squeue-of-an-array.txt"), MARK) == (7, 4)
    assert counts_from(f"{MARK}|COMPLETING\n{MARK}|FRIED\nrow of a banner\n", MARK) == (0, 0)
    assert "--array" in count_argv(MARK)


def test_questions_name_the_cluster_and_ask_for_no_text_that_people_write() -> None:
    assert "cluster=narval" in associations_argv("ana", "narval") and "user=ana" in associations_argv("ana", "narval")
    assert "--accounts=a,b" in account_shares_argv(["a", "b"]) and "--Users" in own_shares_argv()
    assert "start=2026-11-18T00:00:00" in report_argv("ana", datetime(2026, 11, 18))
    assert "ob" not in "".join(own_shares_argv())


@given(st.text(max_size=200))
def test_any_text_at_all_is_read_without_a_crash(text: str) -> None:
    for answer in (text, f"Account|User|LevelFS\n{text}", f"Account|{text}\n{text}|1\n"):
        shares_from(answer)
        associations_from(answer)
        report_from(answer)
    qos_from(f"Name|{text}")
    counts_from(text.replace("x", MARK), MARK)
    amounts(text)
    number(text)


@pytest.mark.parametrize(
    ("errors", "word"),
    [
        ("QOSMaxSubmitJobPerUserLimit", "wait for some to end"),
        ("AssocMaxSubmitJobLimit", "wait for some to end"),
        ("AssocGrpSubmitJobsLimit", "wait for some to end"),
        ("QOSMaxWallDurationPerJobLimit", "--time"),
        ("AssocGrpTRESMinsLimit", "voy budget"),
        ("QOSMaxTRESPerJob", "as large"),
        ("SomethingElse", "wait for jobs to end"),
    ],
)
def test_a_limit_is_named_by_its_first_line(errors: str, word: str) -> None:
    """The second line speaks of size and time whatever the limit is."""
    policy = "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)"
    text = f"sbatch: error: {errors}\nsbatch: error: Batch job submission failed: {policy}\n"
    assert word in refusal_hint(text)
